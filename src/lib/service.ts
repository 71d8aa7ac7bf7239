/** A part that runs: started once and stopped once. */
export interface Service {
  /** If it rejects, nothing of it runs. */
  start(): Promise<void>;
  /** Takes no new work, finishes or releases what it has, and resolves within about `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>;
}
