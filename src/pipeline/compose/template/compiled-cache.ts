/**
 * Recently used compiled templates, limited by number and weight. A key names one version, and versions never change,
 * so no entry is ever outdated; the one not used for longest is removed first.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { CompiledTemplate } from './template.ts';

interface CompiledCache {
  get(key: string): CompiledTemplate | undefined;
  set(key: string, template: CompiledTemplate): void;
}

const COMPILED_CACHE_LIMITS = { maxTemplates: 200, maxBytes: 32 * 1024 * 1024 };

/** An empty cache. */
export function createCompiledCache(limits = COMPILED_CACHE_LIMITS): CompiledCache {
  const kept = new BoundedMap<string, CompiledTemplate>(limits.maxTemplates);
  let bytes = 0;

  function drop(key: string): void {
    bytes -= kept.get(key)?.weight ?? 0;
    kept.delete(key);
  }

  return {
    get(key) {
      const found = kept.get(key);
      if (found !== undefined) kept.set(key, found);
      return found;
    },
    set(key, template) {
      drop(key);
      if (template.weight > limits.maxBytes) return;
      bytes += template.weight;
      while (kept.size >= limits.maxTemplates || bytes > limits.maxBytes)
        bytes -= kept.shift()?.weight ?? bytes;
      kept.set(key, template);
    },
  };
}
