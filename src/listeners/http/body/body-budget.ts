/**
 * How many octets of request bodies are held at once, over all requests: each body is bounded by itself, their number
 * is not. Given a bound, each request opens a share, takes what it reads from it, and gives everything back when its
 * answer is through. What does not fit is the caller's to refuse; a lone body always fits.
 */

export interface BodyShare {
  /** Takes `bytes` more, or nothing and false where they do not fit. */
  take(bytes: number): boolean;
  /** Gives back all that was taken. Repeating is harmless. */
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
      return {
        take(bytes) {
          if (held > taken && held + bytes > maxBytes) return false;
          held += bytes;
          taken += bytes;
          return true;
        },
        end() {
          held -= taken;
          taken = 0;
        },
      };
    },
  };
}
