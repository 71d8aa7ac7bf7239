/** Example plans, as `simulate --example` prints them. Tests simulate them, and the how-to shows them. */

export const EXAMPLES = {
  relays: {
    days: 1,
    nodes: 2,
    messageBytes: 30000,
    mail: [
      { provider: 'google', recipients: 900000, lane: 'bulk', from: '06:00', until: '10:00' },
      { provider: 'outlook', recipients: 500000, lane: 'bulk', from: '06:00', until: '10:00' },
      { provider: 'other', recipients: 500000, lane: 'bulk', from: '06:00', until: '10:00' },
      { provider: 'google', recipients: 60000, lane: 'normal' },
      { provider: 'google', recipients: 40000, lane: 'critical' },
    ],
    routes: [{ priority: ['critical', 'normal'], route: 'smtp://relay1.example.net:587' }],
    route: 'smtp://relay2.example.net:587',
    limits: [{ id: 'relay2', relays: ['relay2.example.net:587'], limits: { messagesPerSecond: 80 } }],
    farEnds: [{ name: 'relay2.example.net:587', roundTripMs: 20, answerMs: 30 }],
  },
  warmup: {
    start: '2027-01-04',
    days: 14,
    mail: [
      { provider: 'google', recipients: 2000, lane: 'bulk', from: '09:00', until: '10:00' },
      { provider: 'outlook', recipients: 800, lane: 'bulk', from: '09:00', until: '10:00' },
      { provider: 'google', recipients: 100, lane: 'normal' },
    ],
    sources: [{ id: 'mail1', address: '192.0.2.10', age: 0 }],
    route: 'mx',
  },
  faults: {
    mail: [
      { provider: 'google', recipients: 40000, lane: 'bulk', from: '08:00', until: '09:00' },
      { provider: 'google', recipients: 500, lane: 'critical' },
      { provider: 'yahoo', recipients: 10000, lane: 'bulk', from: '08:00', until: '09:00' },
      { provider: 'other', recipients: 5000, lane: 'normal', domains: 50 },
    ],
    limits: [{ id: 'google', limits: { messagesPerSecond: 10 } }],
    faults: [
      { at: 'google', what: 'defers', share: 0.2, from: '08:00', for: '2h' },
      { at: 'yahoo', what: 'unreachable', from: '08:30', for: '45m' },
    ],
  },
} as const;

export type ExampleName = keyof typeof EXAMPLES;

/** As a file, its lists one entry a line. */
export function exampleText(name: ExampleName): string {
  const members = Object.entries(EXAMPLES[name]).map(([key, value]) => {
    if (!Array.isArray(value)) return `  "${key}": ${spaced(value)}`;
    return `  "${key}": [\n${value.map((item) => `    ${spaced(item)}`).join(',\n')}\n  ]`;
  });
  return `{\n${members.join(',\n')}\n}`;
}

/** JSON on one line, as a person would write it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, one]) => `"${key}": ${spaced(one)}`);
  return `{ ${members.join(', ')} }`;
}
