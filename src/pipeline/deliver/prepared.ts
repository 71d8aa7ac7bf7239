/** A delivery made ready to travel: content read, signed, its own trace header and return path in place. */
import type { ReturnPathTokens } from '../../mail/verp.ts';
import type { Store } from '../../store/store.ts';
import type { ReadyItem } from '../queue/ready-window.ts';
import type { Outcome } from './outcome.ts';
import { NO_FACTS } from './outcome.ts';
import type { Signing } from './signing.ts';

export interface Prepared {
  item: ReadyItem;
  mailFrom: string;
  /** Header lines in front of the content: signature, then the unsigned reference. */
  prefix: Uint8Array;
  content: Uint8Array;
  /** Why it is unsigned, or null. */
  note: string | null;
}

export type PrepareResult =
  | { kind: 'ready'; prepared: Prepared }
  | { kind: 'outcome'; outcome: Extract<Outcome, { kind: 'held' | 'failed' }> };

export interface Preparer {
  /** Rejects only where the store cannot be read. */
  prepare(item: ReadyItem): Promise<PrepareResult>;
}

interface Deps {
  store: Store;
  signing: Signing;
  tokens: ReturnPathTokens;
}

export function createPreparer(
  { store, signing, tokens }: Deps,
  options: { bounceDomain: string },
): Preparer {
  return {
    async prepare(item) {
      const { delivery } = item;
      const content = item.content ?? (await store.readContent({ messageSeq: delivery.messageSeq }));
      if (content === null) {
        const detail = 'the content of this message is no longer kept';
        return {
          kind: 'outcome',
          outcome: { kind: 'failed', category: 'content_gone', detail, facts: NO_FACTS },
        };
      }
      const signed = await signing.sign(delivery, content);
      if (signed.kind === 'held') return { kind: 'outcome', outcome: signed };
      const reference = Buffer.from(`X-Postrider-Ref: ${tokens.ref(delivery.id)}\r\n`, 'latin1');
      return {
        kind: 'ready',
        prepared: {
          item,
          mailFrom: `${tokens.make('b', delivery.id)}@${options.bounceDomain}`,
          prefix: signed.kind === 'signed' ? Buffer.concat([signed.header, reference]) : reference,
          content,
          note: signed.kind === 'unsigned' ? signed.reason : null,
        },
      };
    },
  };
}
