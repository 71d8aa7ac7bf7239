/**
 * Bugs made on purpose: each changes the engine in one place, between it and its store or in its own parts, before
 * anything is sent. `notices` is how the promise that it breaks says so.
 */
import type { Engine } from '../../src/engine.ts';
import type { DomainService } from '../../src/policy/domains/domains.ts';
import type { EgressMemory } from '../../src/policy/limits/shaping/egress-memory.ts';
import type { PathLimits } from '../../src/policy/limits/shaping/types.ts';
import type { Change } from '../../src/simulation/process.ts';
import type { Store } from '../../src/store/store.ts';
import type { Settlement } from '../../src/store/topics/queue.ts';

export interface Mutation extends Change {
  name: string;
  notices: RegExp;
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'one connection too many',
    notices: /connections from .* where \d+ are allowed/,
    engine: withLimits((limits) => ({ connections: limits.connections + 1 })),
  },
  {
    name: 'one message too many on a connection',
    notices: /messages on one connection/,
    engine: withLimits((limits) => ({ messagesPerConnection: limits.messagesPerConnection + 1 })),
  },
  {
    name: 'messages twice as fast as allowed',
    notices: /a message to .* before its time/,
    engine: withLimits(({ messagesPerSecond }) => ({
      messagesPerSecond: messagesPerSecond === null ? null : 2 * messagesPerSecond,
    })),
  },
  {
    name: 'connections twice as fast as allowed',
    notices: /a connection to .* before its time/,
    engine: withLimits(({ newConnectionsPerMinute }) => ({
      newConnectionsPerMinute: newConnectionsPerMinute === null ? null : 2 * newConnectionsPerMinute,
    })),
  },
  {
    name: 'a recipient that is answered for and not kept',
    notices: /was accepted for \d+ recipients, and the store has \d+/,
    store: (store) =>
      replaced(store, 'commitAccepted', (params) =>
        store.commitAccepted({
          ...params,
          messages: params.messages.map((one) => ({ ...one, recipients: one.recipients.slice(0, 1) })),
        }),
      ),
  },
  {
    name: 'a final event that is lost',
    notices: /with 0 final events/,
    store: withSettlements((one) => ({ ...one, events: [] })),
  },
  {
    name: 'a final event that is written twice',
    notices: /with 2 final events/,
    store: withSettlements((one) => ({ ...one, events: [...one.events, ...one.events] })),
  },
  {
    name: 'a refusal that is taken for a delivery',
    notices: /is delivered, and no far end has it/,
    store: withSettlements((one) =>
      one.state === 'bounced'
        ? { ...one, state: 'delivered', events: one.events.map((event) => ({ ...event, kind: 'delivered' })) }
        : one,
    ),
  },
  {
    name: 'a delivery that is taken for a failure',
    notices: /though its 250 was read/,
    store: withSettlements((one) =>
      one.state === 'delivered'
        ? { ...one, state: 'failed', events: one.events.map((event) => ({ ...event, kind: 'failed' })) }
        : one,
    ),
  },
  {
    name: 'an event that tells of another end',
    notices: /its event says/,
    store: withSettlements((one) =>
      one.state === 'bounced'
        ? { ...one, events: one.events.map((event) => ({ ...event, kind: 'failed' })) }
        : one,
    ),
  },
  {
    name: 'a second copy that nobody is told of',
    notices: /its event does not say so|nothing says that it may have arrived/,
    store: withSettlements((one) => ({
      ...one,
      mayBeDuplicate: false,
      events: one.events.map((event) => ({
        ...event,
        detail: { ...event.detail, possibleDuplicate: false },
      })),
    })),
  },
  {
    name: 'messages in flight on a lost connection that nobody is told of',
    notices: /its event does not say so|nothing says that it may have arrived/,
    // Only of these the connection may end before the reply to MAIL, and the message have arrived.
    store: withSettlements((one) =>
      one.category === 'outcome_unknown' && /ended at (mail|rcpt)/.test(one.lastReply ?? '')
        ? { ...one, mayBeDuplicate: false }
        : one,
    ),
  },
  {
    name: 'a reply that is matched to another message in flight',
    notices: /is delivered, and no far end has it|though its 250 was read/,
    store: (store) =>
      replaced(store, 'settle', (params) =>
        store.settle({ ...params, settlements: swapped(params.settlements) }),
      ),
  },
  {
    name: 'a failing path that the message pays for',
    notices: /was charged \d+ attempts/,
    store: withSettlements((one) => ({ ...one, countAttempt: true })),
  },
  {
    name: 'a lease that is kept at the end',
    notices: /still leased after a stop/,
    store: (store) => replaced(store, 'release', async () => undefined),
  },
  {
    name: 'leases of the dead that are not taken back',
    notices: /leased to a process that is gone|is sending at the end/,
    store: (store) => replaced(store, 'reclaim', async () => 0),
  },
  {
    name: 'a cancellation that does nothing',
    notices: /went out after it was canceled|answered as canceled/,
    store: (store) =>
      replaced(store, 'cancelQueued', async ({ recipients }) => ({
        changed: recipients.map(({ deliveryId }) => deliveryId),
        tooLate: 0,
      })),
  },
  {
    name: 'a cancellation of what waits in memory, and goes all the same',
    notices: /went out after it was canceled|answered as canceled/,
    engine: ({ queue }) => {
      queue.changing = async (ids, change) => {
        const waiting = ids.flatMap((id) => queue.itemOf(id) ?? []).filter(({ underWay }) => !underWay);
        return [await change(ids, new Map(waiting.map(({ delivery }) => [delivery.id, delivery.epoch])))];
      };
    },
  },
  {
    name: 'a hold that nobody heeds',
    notices: /after it was held/,
    engine: (engine) => {
      engine.traffic.holds.heldBy = () => null;
    },
  },
  {
    name: 'mail whose time is over and that waits on',
    notices: /after its time was over/,
    store: (store) => replaced(store, 'claimExpired', async () => []),
  },
  {
    name: 'due mail that is not found',
    notices: /is due and waits for no reason|is queued at the end|after its time was over/,
    store: (store) => replaced(store, 'dueQueues', async () => []),
  },
  {
    name: 'what is taken back from behind a silent far end stays there',
    notices: /was taken and does not go and stays in memory|waits behind another message and stays/,
    engine: ({ queue }, clock) => {
      const { putBack } = queue;
      queue.putBack = (item) => void clock.setTimer(600_000, () => putBack(item));
    },
  },
  {
    name: 'a signature that outlives its key and its domain',
    notices: /another key of .* was in force|was not there/,
    domains(domains) {
      const kept = new Map<string, ReturnType<DomainService['signersFor']>>();
      return {
        ...domains,
        signersFor(domain) {
          const answer = kept.get(domain) ?? domains.signersFor(domain);
          kept.set(domain, answer);
          return answer;
        },
      };
    },
  },
  {
    name: 'mail that goes on without a signature where there is none',
    notices: /without a signature|was not there/,
    domains: (domains) => ({
      ...domains,
      async signersFor(domain) {
        const answer = await domains.signersFor(domain);
        return answer.kind === 'held' ? { kind: 'unsigned', reason: 'simulated' } : answer;
      },
    }),
  },
  oneFaultOfTls(),
  {
    name: 'a new source that is sent from as if it were known',
    notices: /more mail of the new source .* than its budget allows/,
    engine: ({ warmup }) => {
      warmup.take = () => ({ kind: 'go' });
    },
  },
  {
    name: 'rows that are claimed while their path closes and stay leased',
    notices: /(waits while its path is closed|is on its way to the store) and stays in memory/,
    store(store) {
      let claimed: ReadonlySet<number> = new Set();
      return {
        ...store,
        async claimDue(params) {
          const rows = await store.claimDue(params);
          claimed = new Set(rows.map(({ id }) => id));
          return rows;
        },
        release: (params) =>
          params.waitReason?.startsWith('path:') === true && params.deliveryIds.some((id) => claimed.has(id))
            ? new Promise<never>(() => {})
            : store.release(params),
      };
    },
  },
  {
    name: 'a pause of our own that a restart does not end',
    notices: /is closed after a restart, and nobody asked for it/,
    store: (store) =>
      replaced(store, 'listPathStates', async (params) =>
        (await store.listPathStates(params)).map((state) => ({ ...state, asked: true })),
      ),
  },
  {
    name: 'an override that is removed and goes on closing its path',
    notices: /is suspended though its override was removed|stays closed though it was opened by hand/,
    engine: ({ traffic }) => {
      traffic.overrides.remove = async () => null;
    },
  },
  {
    name: 'a path that nobody can open by hand',
    notices: /stays closed though it was opened by hand/,
    engine: ({ tryNow }) => {
      tryNow.paths = async () => 0;
    },
  },
  {
    name: 'mail that waits in memory and cannot be canceled',
    notices: /could not be canceled as if it were being sent/,
    engine: ({ queue }) => {
      queue.changing = async (ids, change) => [await change(ids, new Map())];
    },
  },
  {
    name: 'a cancellation of what is being sent',
    notices: /went out after it was canceled|is delivered, |answered as canceled/,
    store: (store) =>
      replaced(store, 'cancelQueued', async (params) => {
        const { tooLate } = await store.cancelQueued(params);
        return { changed: params.recipients.map(({ deliveryId }) => deliveryId), tooLate };
      }),
  },
  {
    name: 'mail in memory that never hears of a suppression',
    notices: /ms after .* was suppressed/,
    store: (store) => replaced(store, 'onSuppressed', () => () => {}),
  },
  {
    name: 'another time that nobody keeps to',
    notices: /before the time that it was given/,
    store: (store) =>
      replaced(store, 'reschedule', (params) => store.reschedule({ ...params, sendAt: params.now })),
  },
];

/** A fault at STARTTLS is remembered for a day as a host that cannot do TLS. */
function oneFaultOfTls(): Mutation {
  let egressMemory: EgressMemory | null = null;
  return {
    name: 'one fault at STARTTLS that is taken for a host without TLS',
    notices: /went in the clear to .* whose TLS works/,
    engine: ({ traffic }) => {
      ({ egressMemory } = traffic);
    },
    store: (store) =>
      replaced(store, 'putEgressFacts', async (params) => {
        for (const { kind, key, until } of params.facts)
          if (kind === 'tls-trouble' && until > 0) {
            const bent = { to: 'clear', result: 'validation-failure', why: 'simulated' };
            egressMemory?.facts('tls-bent', (json) => json, 86_400_000).set(key, bent, until);
          }
        return store.putEgressFacts(params);
      }),
  };
}

/** The limits in force are others than those that were written. */
function withLimits(change: (limits: PathLimits) => Partial<PathLimits>): (engine: Engine) => void {
  return ({ traffic: { shaping } }) => {
    const { limitsFor } = shaping;
    shaping.limitsFor = (place) => {
      const found = limitsFor(place);
      return { ...found, limits: { ...found.limits, ...change(found.limits) } };
    };
  };
}

function withSettlements(change: (one: Settlement) => Settlement): (store: Store) => Store {
  return (store) =>
    replaced(store, 'settle', (params) =>
      store.settle({ ...params, settlements: params.settlements.map(change) }),
    );
}

/** The first that was accepted and the first that was refused in a commit change places. */
function swapped(settlements: readonly Settlement[]): readonly Settlement[] {
  const accepted = settlements.find(({ state }) => state === 'delivered');
  const refused = settlements.find(({ state }) => state === 'bounced');
  if (accepted === undefined || refused === undefined) return settlements;
  const named = (one: Settlement, { deliveryId, epoch }: Settlement): Settlement => ({
    ...one,
    ...{ deliveryId, epoch },
    events: one.events.map((event) => ({ ...event, deliveryId })),
  });
  return settlements.map((one) =>
    one === accepted ? named(refused, accepted) : one === refused ? named(accepted, refused) : one,
  );
}

function replaced<Name extends keyof Store>(store: Store, name: Name, by: Store[Name]): Store {
  return { ...store, [name]: by };
}
