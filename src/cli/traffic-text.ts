/** Paths, overrides and holds as text for a terminal. Pure. */

import type { Hold, Override, Path, PathLimit, Relay, Site } from '../client/api-types.ts';
import { table } from './terminal.ts';
import { waitText } from './wait-text.ts';

/** `queue path`: limits with their origin, state, reason, what waits. */
export function siteText(answer: Site): string {
  const blocks = answer.Paths.map(pathText);
  if (answer.Paths.length === 0) {
    blocks.push(`${answer.Site}: ${answer.Note}:`);
    blocks.push(limitsText(answer.Limits));
  }
  if (answer.Relays.length > 0) blocks.push(relaysText(answer.Relays));
  const more = answer.Complete ? '' : ' or more';
  const lines = [`${answer.Waiting}${more} waiting in the queue.`];
  for (const { Reason, Count, Reply } of answer.Reasons)
    lines.push(`  ${Count} × ${waitText(Reason, Reply)}`);
  blocks.push(lines.join('\n'));
  if (answer.Holds.length > 0)
    blocks.push(`Held, until \`postrider queue release ID\`:\n${holdsText(answer.Holds)}`);
  return blocks.join('\n\n');
}

function pathText(path: Path): string {
  const name = [path.Site, ...(path.Source === '' ? [] : [`from ${path.Source}`])].join(' ');
  const { Open, Busy, Hanging, Opening } = path.Connections;
  const hanging = Hanging === 0 ? '' : `, ${Hanging} not answered for long`;
  const facts: [string, string][] = [
    ['State', stateText(path)],
    ['Why', path.Reason === null ? 'nothing holds it back' : path.Reason],
    ...(path.WaitsUntil === null ? [] : [['Until', path.WaitsUntil] satisfies [string, string]]),
    [
      'Connections',
      `${Open} open, ${Busy} busy${hanging}, ${Opening} opening; at most ${path.Window} at present`,
    ],
    ['In memory', `${waitingText(path)}; ${path.InFlight} being sent`],
  ];
  if (path.Provider !== null) facts.push(['Provider', path.Provider]);
  if (path.Domains.length > 0) facts.push(['Domains', path.Domains.join(', ')]);
  for (const [label, word] of [
    ['Last success', path.LastSuccess],
    ['Last failure', path.LastFailure],
  ] as const) {
    if (word !== null) facts.push([label, `${word.At} ${word.Text}`.trimEnd()]);
  }
  const blocks = [`${name} (${path.Route})\n${table(facts)}`, limitsText(path.Limits)];
  if (path.Overrides.length > 0) blocks.push(`Learned or set for a time:\n${overridesText(path.Overrides)}`);
  return blocks.join('\n\n');
}

/**
 * One word for a list: `open` and `closed` are those of a circuit breaker, which many would read the other way round.
 */
export function stateWord(path: Pick<Path, 'State' | 'WaitsFor'>): string {
  if (isBlocked(path)) return 'blocked';
  return path.State === 'closed' ? 'goes' : 'probing';
}

function stateText(path: Path): string {
  if (isBlocked(path)) return 'blocked';
  return path.State === 'closed' ? 'mail goes' : 'blocked; one message tests whether mail can be sent again';
}

/** Also by a suspension, and where no node sends from the source, which its circuit breaker does not know. */
function isBlocked({ State, WaitsFor }: Pick<Path, 'State' | 'WaitsFor'>): boolean {
  return State === 'open' || WaitsFor === 'suspended' || WaitsFor === 'no-node';
}

function waitingText({ Waiting }: Path): string {
  return `${Waiting.critical} critical, ${Waiting.normal} normal, ${Waiting.bulk} bulk waiting`;
}

function limitsText(limits: readonly PathLimit[]): string {
  const rows = limits.map((limit) => [limit.Name, String(limit.Value ?? 'no limit'), originText(limit)]);
  return table([['LIMIT', 'VALUE', 'FROM'], ...rows]);
}

function originText({ From, Detail, Until }: PathLimit): string {
  if (From === 'data') return `shipped data, row ${Detail}`;
  if (From === 'user') return `shaping.json, row ${Detail}`;
  if (From === 'config') return `configuration, key ${Detail}`;
  return `override by ${Detail} until ${Until ?? ''}`;
}

/** Relays that failed and are passed over. */
export function relaysText(relays: readonly Relay[]): string {
  const rows = relays.map((item) => [item.Relay, String(item.Failures), item.Until, item.Why]);
  return `Relays that failed, and when they are tried again:\n${table([['RELAY', 'FAILURES', 'UNTIL', 'WHY'], ...rows])}`;
}

/** A table of overrides with the reason of each. */
export function overridesText(overrides: readonly Override[]): string {
  const rows = overrides.map((item) => [
    item.OverrideID,
    `${item.Scope} ${item.Key}`,
    `${item.Param} = ${item.Value}`,
    item.Until,
    `${item.Rule}: ${item.Why}`,
  ]);
  return table([['ID', 'FOR', 'SETS', 'UNTIL', 'WHY'], ...rows]);
}

export function holdsText(holds: readonly Hold[]): string {
  const rows = holds.map((hold) => [
    hold.HoldID,
    hold.SenderDomain ?? '*',
    hold.RecipientDomain ?? '*',
    hold.Site ?? '*',
    hold.Priority ?? '*',
    hold.CreatedAt,
    hold.Until ?? 'you release it',
    hold.Reason,
  ]);
  return table([['ID', 'FROM', 'TO', 'SITE', 'PRIORITY', 'SINCE', 'UNTIL', 'WHY'], ...rows]);
}
