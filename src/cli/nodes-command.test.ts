import { expect, it } from 'vitest';
import type { Node } from '../client/api-types.ts';
import { nodesText } from './nodes-command.ts';

const running: Node = {
  ...{
    Node: 'one',
    Epoch: 3,
    Self: true,
    Status: 'Alive',
    Host: 'mail1',
    Pid: 7,
    Version: '0.1.0',
    Schema: 1,
  },
  ...{ Roles: ['http'], Sources: [], DiffersIn: [], Sending: 0, Leases: [] },
  ...{ StartedAt: '2026-11-23T08:00:00.000Z', HeartbeatAt: '2026-11-23T08:00:00.000Z', EndedAt: null },
};
const ended = { ...running, Self: false, Status: 'Ended', EndedAt: '2026-11-23T07:00:00.000Z' } as const;

it('lists what runs, and of the rest only the last run of a node that is gone', () => {
  const text = nodesText({
    Items: [
      running,
      { ...ended, Epoch: 2 },
      { ...ended, Node: 'two', Epoch: 5 },
      { ...ended, Node: 'two', Epoch: 4 },
    ],
    NextCursor: null,
    HasMore: false,
  });
  expect(
    text
      .split('\n')
      .map((line) => /^(\w+(?: \*)?) +(\d)/.exec(line)?.slice(1, 3))
      .filter(Boolean),
  ).toEqual([
    ['one *', '3'],
    ['two', '5'],
  ]);
});

it('says of the node that answers that it was heard of now, and what the mark means', () => {
  const text = nodesText({ Items: [running], NextCursor: null, HasMore: false });
  expect(text).toMatch(/^one \* .* now\b/m);
  expect(text).not.toContain('08:00:00');
  expect(text).toContain('* = the node that answers');
});

it('says when a node that ended was last heard of, and apart from it when it ended', () => {
  const gone = { ...ended, HeartbeatAt: '2026-11-23T06:59:40.000Z' };
  const text = nodesText({ Items: [running, gone], NextCursor: null, HasMore: false });
  expect(text).toMatch(/LAST HEARD OF +ENDED/);
  expect(nodesText({ Items: [{ ...gone, Node: 'two' }], NextCursor: null, HasMore: false })).toMatch(
    /06:59:40\.000Z +2026-11-23T07:00:00/,
  );
});

it('lists the nodes of a server of an earlier version, before it is restarted', () => {
  const { DiffersIn: _, ...earlier } = running;
  const text = nodesText({ Items: [earlier as Node], NextCursor: null, HasMore: false });
  expect(text).toMatch(/^one \*/m);
});

it('says of a node that was lost what that means, and only then', () => {
  const lost = { ...ended, Node: 'two', Status: 'Lost' } as const;
  const listed = (...Items: Node[]) => nodesText({ Items, NextCursor: null, HasMore: false });
  expect(listed(running, lost)).toMatch(/^two .* Lost .*\n\n\* = .*\nLost = it ended without stopping: /m);
  expect(listed(running, ended)).not.toContain('Lost');
  // Of those that were lost only the last run is shown, as of those that ended.
  expect(listed(running, { ...lost, Node: 'one', Epoch: 2 })).not.toContain('Lost');
});
