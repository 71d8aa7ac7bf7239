/**
 * Limits how many octets of request bodies are in memory over all requests: each body has its own limit, but their
 * number has none. Each request opens a share, takes what it reads from it, and returns everything when its answer is
 * sent. The caller refuses what does not fit; a single body always fits.
 */

export interface BodyShare {
  /** Takes `bytes` more; false, without taking any, if they do not fit or the share has ended. */
  take(bytes: number): boolean;
  /** Returns everything that was taken. May be repeated. */
  end(): void;
}

export interface BodyBudget {
  open(): BodyShare;
}

/** A budget of `maxBytes`. */
export function createBodyBudget(maxBytes: number): BodyBudget {
  let held = 0;
  return {
    open() {
      let taken = 0;
      let ended = false;
      return {
        take(bytes) {
          if (ended || (held > taken && held + bytes > maxBytes)) return false;
          held += bytes;
          taken += bytes;
          return true;
        },
        end() {
          ended = true;
          held -= taken;
          taken = 0;
        },
      };
    },
  };
}
