/**
 * Reports captures after their commit (`CaptureStore.onCaptured`). Takes the captures of each operation in the order of
 * the commits; calls everybody who listens at that moment. Contents of captures stay on this thread: they are kept
 * while the operation runs, and added to the report.
 */
import { createSignal, type Signal } from '../../lib/signal.ts';
import type { Store } from '../store.ts';
import type { CaptureView } from '../topics/captures.ts';

type Settling = Parameters<Store['settle']>[0];

/** Between settling and requests that wait for captured mail. */
export interface CaptureTeller {
  /** Runs a settling whose contents are kept here; `run` gets the parameters without them. */
  settling<Result>(params: Settling, run: (params: Settling) => Promise<Result>): Promise<Result>;
  tell(captures: readonly CaptureView[]): void;
  /** Calls the listener until the returned function is called. */
  subscribe: Signal<readonly CaptureView[]>['subscribe'];
}

/** Without listeners. */
export function createCaptureTeller(): CaptureTeller {
  const told = createSignal<readonly CaptureView[]>();
  /** By the id of their capture. */
  const contents = new Map<string, Uint8Array>();

  return {
    settling(params, run) {
      if (params.settlements.every(({ capture }) => capture?.content === undefined)) return run(params);
      const ids: string[] = [];
      const settlements = params.settlements.map((settlement) => {
        if (settlement.capture?.content === undefined) return settlement;
        const { content, ...capture } = settlement.capture;
        ids.push(capture.id);
        contents.set(capture.id, content);
        return { ...settlement, capture };
      });
      return run({ ...params, settlements }).finally(() => {
        for (const id of ids) contents.delete(id);
      });
    },
    tell(captures) {
      const whole = captures.map((capture) => {
        const content = contents.get(capture.id);
        return content === undefined ? capture : { ...capture, content };
      });
      told.notify(whole);
    },
    subscribe: told.subscribe,
  };
}
