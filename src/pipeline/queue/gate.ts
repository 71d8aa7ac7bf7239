/** What keeps mail back that is due, as the queue asks for it: from memory, for every row. Who answers is not its business. */
import type { Lane, SandboxResult } from '../../model/message.ts';

/** What decides a site, known before and after a row exists. */
export interface SiteQuestion {
  recipientDomain: string;
  senderDomain: string;
  lane: Lane;
  sandbox: SandboxResult | null;
  /** Of its queue (model/route-key.ts); absent = ''. */
  routeKey?: string;
}

/** Why mail is kept back. */
export interface KeptBack {
  /** Shown with everything that waits for it. */
  reason: string;
  /** When it ends by itself, epoch milliseconds; null = nobody knows. */
  until: number | null;
}

/** Asked before rows are promised, claimed, handed out and sent. The queue is told of changes (`Queue.gateChanged`). */
export interface Gate {
  /** Why nothing of this site may be sent now; null = it may. Also for a site that nothing was sent to yet. */
  site(name: string): KeptBack | null;
  /** Why such mail is kept back although its site is open: a hold, a pause of its sender. null = it is not. */
  mail(mail: SiteQuestion, site: string): KeptBack | null;
  /** Critical mail waits for a site that is closed. */
  urgent(site: string): void;
}
