import { describe, expect, it } from 'vitest';
import type { FarEndHabits, SimulationPlan } from './plan/plan.ts';
import { readPlan } from './plan/read-plan.ts';
import { connectionsOf, recipientsOf, sampledRows, weightOf } from './sampling.ts';

const SLOW_FAR_END: FarEndHabits = { roundTripMs: 40, answerMs: 160, chunking: false };

function planOf(more: object = {}): SimulationPlan {
  const read = readPlan(
    JSON.stringify({ mail: [{ provider: 'google', recipients: 100_000 }], ...more }),
    'p',
    null,
  );
  if (read.kind === 'refused') throw new Error(read.problems.join('\n'));
  return read.plan;
}

describe('the messages that one of a sample stands for', () => {
  const weight = (more: object, habits = [SLOW_FAR_END]) => weightOf(planOf(more), habits, 500);

  it.each([
    ['are as many as the wanted size needs', {}, [], 200],
    ['are one where all can be simulated', { mail: [{ provider: 'google', recipients: 500 }] }, [], 1],
    ['take no longer than an answer may take', {}, undefined, 150],
    [
      'leave room for an answer that a fault delays',
      { faults: [{ at: '*', what: 'slow', seconds: 1, for: '1h' }] },
      undefined,
      25,
    ],
    [
      'are fewer than a far end takes in a minute',
      { faults: [{ at: '*', what: 'throttles', perMinute: 7, for: '1h' }] },
      undefined,
      7,
    ],
    [
      'fit into the first budgets of a warm-up',
      { sources: [{ id: 'new', address: '192.0.2.1', age: 0 }] },
      undefined,
      10,
    ],
    ['do not slow a far end with CHUNKING down', {}, [{ ...SLOW_FAR_END, chunking: true }], 4],
  ])('%s', (_, more, habits, expected) => {
    expect(weight(more, habits)).toBe(expected);
  });
});

it('the recipients of a plan are those of the days with mail', () => {
  const mail = [
    { provider: 'google', recipients: 10 },
    { provider: 'gmx', recipients: 100, days: [2] },
  ];
  expect(recipientsOf(planOf({ days: 3, mail }))).toBe(130);
});

describe('the limits of a sample', () => {
  const limits = [
    {
      id: 'google',
      belowMessagesPerDay: 1001,
      limits: {
        messagesPerSecond: 20,
        messagesPerConnection: 50,
        newConnectionsPerMinute: 60,
        tls: 'required',
      },
    },
    {
      id: 'gmx',
      limits: { messagesPerSecond: 0.0002, messagesPerConnection: 4, newConnectionsPerMinute: 60 },
    },
  ];
  const rowOf = (weight: number, id: string) =>
    sampledRows(planOf({ limits }), weight).find((row) => row.id === id);

  it('are rates divided by the weight, and TLS that the far ends can do', () => {
    expect(rowOf(10, 'google')).toMatchObject({
      belowMessagesPerDay: 101,
      limits: {
        messagesPerSecond: 2,
        messagesPerConnection: 5,
        newConnectionsPerMinute: 60,
        tls: 'opportunistic',
      },
    });
  });

  it('open as many connections as the whole, where a message fills more than one', () => {
    expect(connectionsOf(50, 10)).toBe(1);
    expect(connectionsOf(4, 10)).toBe(2.5);
    expect(rowOf(10, 'gmx')?.limits).toMatchObject({
      ...{ messagesPerSecond: 0.0001, messagesPerConnection: 1, newConnectionsPerMinute: 24 },
    });
  });

  it('are those of the plan where everyone is simulated', () => {
    expect(rowOf(1, 'google')?.limits).toMatchObject({ messagesPerSecond: 20, messagesPerConnection: 50 });
  });
});
