/** Whatever runs: started once, stopped once, and honest about what it could not finish. */
export interface Service {
  start(): Promise<void>;
  /** Takes no new work, finishes or gives back what it holds, and resolves within about `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>;
}
