"""Whole screens, and questions that cover one."""
