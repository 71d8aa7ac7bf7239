import { describe, expect, it } from 'vitest';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import type { CaptureView } from '../../../store/topics/captures.ts';
import { quietLog } from '../test-support.ts';
import { createCaptureFeed } from './capture-feed.ts';

function capture(seq: number, more: Partial<CaptureView> = {}): CaptureView {
  const address = { name: '', address: 'a@example.com' };
  return {
    seq,
    id: `id-${seq}`,
    messageId: 'm' as CaptureView['messageId'],
    messageSeq: seq,
    domain: 'example.com',
    inbox: 'main',
    at: 1_000,
    envelopeFrom: 'b@example.com',
    envelopeTo: 'ada@example.net',
    lists: { from: address, to: [], cc: [], bcc: [], replyTo: [] },
    subject: 'Sign in',
    size: 1,
    tags: [],
    prefix: new Uint8Array(),
    fill: null,
    released: null,
    seenAt: null,
    ...more,
  };
}

/** Lets everything go on that waits for nothing. */
async function turns(): Promise<void> {
  for (let n = 0; n < 20; n += 1) await Promise.resolve();
}

/** A store that a test commits to, and that tells what it is asked to tell. */
function open() {
  const rows: CaptureView[] = [];
  let listener: ((captures: readonly CaptureView[]) => void) | null = null;
  let looks = 0;
  const clock = createManualClock();
  const store = {
    async capturesSince({ afterSeq }: { afterSeq: number }) {
      looks += 1;
      const newest = rows.at(-1)?.seq ?? 0;
      return { captures: rows.filter(({ seq }) => seq > afterSeq), lastSeq: newest, more: false };
    },
    onCaptured(given: (captures: readonly CaptureView[]) => void) {
      listener = given;
      return () => {
        listener = null;
      };
    },
  };
  return {
    feed: createCaptureFeed({ store, clock, log: quietLog }),
    commit: (one: CaptureView) => void rows.push(one),
    tell: (one: CaptureView) => listener?.([one]),
    listens: () => listener !== null,
    looks: () => looks,
    /** The next look, and what it finds. */
    async look() {
      await turns();
      clock.advance(5_000);
      await turns();
    },
  };
}

describe('the feed of captures', () => {
  it('hands each capture to those it fits, and to nobody else', () => {
    const { feed, tell } = open();
    const heard: string[] = [];
    const watch = (name: string, wish: object) =>
      feed.watch(wish, ({ seq }) => void heard.push(`${name} ${seq}`));
    watch('inbox', { inbox: 'main' });
    watch('other', { inbox: 'other' });
    watch('to', { to: 'Ada@Example.net' });
    watch('subject', { inbox: 'main', subject: 'sign' });
    watch('domain', { domains: ['other.example'] });
    watch('late', { inbox: 'main', since: 1_001 });
    watch('all', {});
    tell(capture(1));
    expect(heard.sort()).toEqual(['all 1', 'inbox 1', 'subject 1', 'to 1']);
  });

  it('tells a capture once, whether the store tells it or a look finds it', async () => {
    const { feed, commit, tell, look } = open();
    const heard: number[] = [];
    feed.watch({}, ({ seq }) => void heard.push(seq));
    await look();
    const [first, second, third] = [capture(1), capture(2), capture(3)];
    commit(first);
    tell(first);
    // Its answer was lost on the way.
    commit(second);
    await look();
    expect(heard).toEqual([1, 2]);
    // Read before the store heard that it was committed.
    commit(third);
    await look();
    tell(third);
    await look();
    expect(heard).toEqual([1, 2, 3]);
  });

  it('tells what the store tells late of a commit before the first look', async () => {
    const { feed, commit, tell, look } = open();
    const heard: number[] = [];
    commit(capture(7));
    feed.watch({}, ({ seq }) => void heard.push(seq));
    await look();
    tell(capture(7));
    expect(heard).toEqual([7]);
  });

  it('listens and looks only while somebody watches', async () => {
    const { feed, tell, listens, looks, look } = open();
    const heard: number[] = [];
    const leave = feed.watch({}, ({ seq }) => void heard.push(seq));
    const other = feed.watch({}, () => {});
    await look();
    leave();
    leave();
    expect(listens()).toBe(true);
    other();
    expect(listens()).toBe(false);
    const before = looks();
    tell(capture(1));
    expect([heard, looks()]).toEqual([[], before]);
  });
});
