"""The few environment variables of own processes that we use: an allow-list, and nothing else is kept."""

from __future__ import annotations

from monitor.clean import clean
from monitor.redact import redact
from monitor.types.facts import EnvironmentVariable
from monitor.word_set import word_set

ALLOWED = word_set(
    # which GPUs
    "CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER NVIDIA_VISIBLE_DEVICES CUDA_LAUNCH_BLOCKING "
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE "
    # ranks: torchrun, MPI, PMI, Horovod
    "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK NODE_RANK ROLE_RANK MASTER_ADDR MASTER_PORT "
    "TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT TORCHELASTIC_MAX_RESTARTS OMPI_COMM_WORLD_RANK "
    "OMPI_COMM_WORLD_SIZE "
    "OMPI_COMM_WORLD_LOCAL_RANK PMI_RANK PMI_SIZE HOROVOD_RANK HOROVOD_SIZE HOROVOD_LOCAL_RANK "
    # Slurm
    "SLURM_JOB_ID SLURM_JOBID SLURM_JOB_NAME SLURM_JOB_PARTITION SLURM_PROCID SLURM_LOCALID SLURM_NODEID SLURM_NTASKS "
    "SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID SLURM_CPUS_PER_TASK SLURM_CPUS_ON_NODE "
    "SLURM_GPUS_ON_NODE SLURM_JOB_GPUS SLURM_STEP_GPUS SLURM_MEM_PER_NODE SLURM_JOB_START_TIME SLURM_JOB_END_TIME "
    "SLURM_SUBMIT_DIR SLURM_STEP_ID SLURM_RESTART_COUNT "
    # names of runs and where they write
    "WANDB_NAME WANDB_RUN_GROUP WANDB_PROJECT WANDB_RUN_ID WANDB_DIR WANDB_MODE JPY_SESSION_NAME MLFLOW_RUN_NAME "
    "MLFLOW_EXPERIMENT_NAME HYDRA_FULL_ERROR TENSORBOARD_LOGGING_DIR TRACKIO_PROJECT COMET_PROJECT_NAME "
    "CONDA_DEFAULT_ENV VIRTUAL_ENV TMUX TMUX_PANE STY "
    # settings that change speed or memory
    "OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS PYTORCH_CUDA_ALLOC_CONF PYTORCH_ALLOC_CONF "
    "PYTORCH_NO_CUDA_MEMORY_CACHING PYTORCH_HIP_ALLOC_CONF TORCH_COMPILE_DISABLE TORCHDYNAMO_DISABLE "
    "TORCHINDUCTOR_CACHE_DIR "
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE NVIDIA_TF32_OVERRIDE CUBLAS_WORKSPACE_CONFIG CUDA_DEVICE_MAX_CONNECTIONS "
    "TOKENIZERS_PARALLELISM XLA_PYTHON_CLIENT_PREALLOCATE XLA_PYTHON_CLIENT_MEM_FRACTION XLA_FLAGS "
    "TF_FORCE_GPU_ALLOW_GROWTH PYTHONUNBUFFERED PYTHON_DISABLE_REMOTE_DEBUG HF_HUB_OFFLINE "
    # what our own `traintop run` sets
    "TRAINTOP_PROBE "
    "NCCL_DEBUG NCCL_ALGO NCCL_PROTO NCCL_P2P_DISABLE NCCL_P2P_LEVEL NCCL_SHM_DISABLE NCCL_IB_DISABLE NCCL_IB_HCA "
    "NCCL_NET NCCL_NET_GDR_LEVEL NCCL_SOCKET_IFNAME NCCL_NVLS_ENABLE NCCL_TIMEOUT NCCL_BLOCKING_WAIT "
    "NCCL_ASYNC_ERROR_HANDLING NCCL_CUMEM_ENABLE NCCL_MIN_NCHANNELS NCCL_MAX_NCHANNELS TORCH_NCCL_BLOCKING_WAIT "
    "TORCH_NCCL_ASYNC_ERROR_HANDLING TORCH_NCCL_AVOID_RECORD_STREAMS TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"
)
MAX_BLOCK_BYTES = 256 * 1024
MAX_VALUE = 1024


def allowed_environment(block: bytes) -> tuple[EnvironmentVariable, ...]:
    """The allowed variables of a block as /proc/PID/environ gives it, sorted by name, cleaned and redacted."""
    found: dict[str, str] = {}
    for entry in block.split(b"\0"):
        raw_name, mark, value = entry.partition(b"=")
        if not mark or len(raw_name) > 64:
            continue
        name = raw_name.decode("ascii", "replace")
        if name in ALLOWED and name not in found:  # getenv finds the first one
            found[name] = clean(redact(clean(value, MAX_VALUE * 2)), MAX_VALUE)
    return tuple(EnvironmentVariable(name=name, value=found[name]) for name in sorted(found))


def value_of(environment: tuple[EnvironmentVariable, ...], name: str) -> str:
    """The value of a variable; empty when it is not there."""
    return next((variable.value for variable in environment if variable.name == name), "")
