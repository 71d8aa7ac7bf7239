/**
 * Who is told of captures when they are committed (`CaptureStore.onCaptured`). Given the captures of each operation in the
 * order of the commits, it hands them to everybody who listens at that moment.
 */
import type { CaptureView } from '../topics/captures.ts';

type Listener = (captures: readonly CaptureView[]) => void;

export interface CaptureTeller {
  tell(captures: readonly CaptureView[]): void;
  /** Until the function that it gives back is called. */
  subscribe(listener: Listener): () => void;
}

/** Nobody listens yet. */
export function createCaptureTeller(): CaptureTeller {
  const listeners = new Set<{ call: Listener }>();
  return {
    tell(captures) {
      for (const { call } of [...listeners]) call(captures);
    },
    subscribe(call) {
      const entry = { call };
      listeners.add(entry);
      return () => void listeners.delete(entry);
    },
  };
}
