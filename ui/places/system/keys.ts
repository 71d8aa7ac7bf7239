/** Keys of what was answered. */
export const CONFIG = ['system', 'config'] as const;
export const NODES = ['system', 'nodes'] as const;
export const WARMUP = ['system', 'warmup'] as const;
export const REFUSALS = ['system', 'refusals'] as const;
