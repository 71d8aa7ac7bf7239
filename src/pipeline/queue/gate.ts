/** Whether due mail may be sent, as the queue asks for every row, from memory. The queue does not know who answers. */
import type { Lane, SandboxResult } from '../../model/message.ts';

/** The facts that decide a site, known before and after a row exists. */
export interface SiteQuestion {
  recipientDomain: string;
  senderDomain: string;
  lane: Lane;
  sandbox: SandboxResult | null;
  /** The route key of its queue (model/route-key.ts); absent = ''. */
  routeKey?: string;
}

/** Why mail has to wait. */
export interface KeptBack {
  /** Shown for all mail that waits for it. */
  reason: string;
  /** When it ends by itself, epoch milliseconds; null = unknown. */
  until: number | null;
}

/**
 * Asked before rows are reserved, claimed, handed out and sent. Changes are announced to the queue
 * (`Queue.gateChanged`).
 */
export interface Gate {
  /** Why nothing of this site may be sent now; null = it may. Also for a site that was never used. */
  site(name: string): KeptBack | null;
  /** Why such mail has to wait although its site is not blocked: a hold, or a pause of its sender. null = it may be sent. */
  mail(mail: SiteQuestion, site: string): KeptBack | null;
  /** Critical mail waits for a blocked site. */
  urgent(site: string): void;
}
