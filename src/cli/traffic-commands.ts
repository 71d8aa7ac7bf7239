/**
 * `queue path`, `queue try`, `queue hold`, `queue release`, `queue holds` and `override …`: why mail waits, and
 * holding it.
 */
import type {
  Hold,
  Override,
  Path,
  PathsAnswer,
  ReleaseAnswer,
  Site,
  TryAnswer,
} from '../client/api-types.ts';
import type { Page } from '../client/many.ts';
import { parseDuration } from '../config/forms.ts';
import { sleep, systemClock } from '../lib/clock.ts';
import { LANES } from '../model/message.ts';
import { EXISTING, WAITING } from './api-client.ts';
import { oneOf } from './arguments.ts';
import type { CommandContext, CommandGroup, ContextCommand } from './command.ts';
import { printPages } from './lists.ts';
import { counted, table, UsageError } from './terminal.ts';
import { holdsText, overridesText, relaysText, siteText, stateWord } from './traffic-text.ts';

/** How long `queue try` waits for what comes of it, and how often it looks. */
const TRY_MS = 5_000;
const LOOK_EVERY_MS = 200;

type State = Pick<Site, 'Paths' | 'Relays'>;

interface MatchOptions {
  from?: string;
  to?: string;
  site?: string;
  priority?: string;
  all?: boolean;
}

/** Adds the subcommands below `queue`. */
export function addTrafficCommands(queue: ContextCommand): void {
  queue
    .command('path [site]')
    .description(
      'show why a path waits: its state, limits and their origin, overrides; without a site all paths',
    )
    .example('postrider queue path gmail.com', 'postrider queue path google')
    .runs(async (ctx, site: string | undefined) => {
      if (site === undefined) return printPages(ctx, '/queue/paths', pathsText);
      await ctx.withApi(async (api) => {
        const body = await api.call<Site>('GET', `/queue/paths/${encodeURIComponent(site)}`);
        ctx.print(body, ctx.asTyped(siteText(body)));
      }, WAITING);
    });

  queue
    .command('try <site>')
    .description('try a blocked path or relay now with one message, and wait up to 5 seconds for the result')
    .example('postrider queue try gmail.com', 'postrider queue try relay:mail.example.net:587')
    .asks(async (ctx, api, site: string) => {
      const path = `/queue/paths/${encodeURIComponent(site)}`;
      // What is not in use yet is not found, or tried all the same.
      const state = () => api.call<State>('GET', path).catch(() => ({ Paths: [], Relays: [] }));
      const { Paths: before } = await state();
      const body = await api.call<TryAnswer>('POST', `${path}/try`);
      const isAwaited = body.Tried + body.Due > 0 && api.alone === null;
      const { Paths, Relays } = isAwaited ? await triedState(state, before, body) : body;
      const answer = { ...body, Paths, Relays };
      const results = Paths.flatMap((one) => resultLine(one, before) ?? []);
      const look =
        isAwaited && results.length === 0
          ? [`Nothing came of it yet. Look again: ${ctx.command(`queue path ${site}`)}`]
          : [];
      const others = Paths.filter((one) => resultLine(one, before) === null).map(pathLine);
      const relays = Relays.length === 0 ? [] : [relaysText(Relays)];
      ctx.print(
        answer,
        [tryText(answer, ctx.command('retry MESSAGE_ID')), ...results, ...others, ...relays, ...look].join(
          '\n',
        ),
      );
    }, WAITING);

  matching(queue.command('hold'), 'all mail')
    .description('hold mail until you release it; held mail can expire like other mail')
    .requiredOption('--reason <text>', 'reason, shown with the held mail')
    .option(
      '--until <time>',
      'when the hold ends: a time such as 2027-01-31T08:00:00Z, or a duration such as 2h',
    )
    .example(
      'postrider queue hold --from example.com --priority bulk --reason "wrong price in the newsletter"',
      'postrider queue hold --to example.net --until 2h --reason "their server is moving"',
    )
    .runs(async (ctx, options: MatchOptions & { reason: string; until?: string }) => {
      const until = options.until === undefined ? undefined : instantOf(options.until);
      const match = matchOf(options);
      if (match === null) {
        throw new UsageError('name what to hold: --from, --to, --site, --priority, or --all');
      }
      await ctx.withApi(async (api) => {
        const hold = await api.call<Hold>('POST', '/queue/hold', {
          ...match,
          Reason: options.reason,
          Until: until,
        });
        ctx.print(hold, withRelease(ctx, [hold]));
      }, EXISTING);
    });

  matching(queue.command('release [hold-id]'), 'every hold')
    .description('release held mail: one hold by its id, or the holds with these conditions')
    .example('postrider queue release --from example.com', 'postrider queue release --all')
    .runs(async (ctx, id: string | undefined, options: MatchOptions) => {
      if (id !== undefined && options.all === true)
        throw new UsageError('give the id of a hold, or --all, not both');
      const match = matchOf(options);
      if (match === null && id === undefined) {
        throw new UsageError(
          `name what to release: the id of a hold (see: ${ctx.command('queue holds')}), its conditions, or --all`,
        );
      }
      await ctx.withApi(async (api) => {
        const body = await api.call<ReleaseAnswer>('POST', '/queue/release', { ...match, HoldID: id });
        const { Released } = body;
        ctx.print(body, `Released ${counted(Released, 'hold')}.`);
      }, WAITING);
    });

  queue
    .command('holds')
    .description('list holds: what is held, since when and why')
    .example('postrider queue holds')
    .runs((ctx) =>
      printPages<Page<Hold>>(ctx, '/queue/holds', ({ Items }) =>
        Items.length === 0 ? 'Nothing is held back.' : withRelease(ctx, Items),
      ),
    );
}

function withRelease(ctx: CommandContext, holds: readonly Hold[]): string {
  const [it, more] = holds;
  const one = more === undefined ? { which: 'it', id: it?.HoldID } : { which: 'one', id: 'ID' };
  return `${holdsText(holds)}\n\nRelease ${one.which} with: ${ctx.command(`queue release ${one.id}`)}`;
}

export const overrideCommands: CommandGroup = (program) => {
  const override = program
    .command('override')
    .description('stricter limits that replies have caused, for a time');

  override
    .command('list')
    .description('list overrides in force, with reason and end')
    .example('postrider override list')
    .runs((ctx) =>
      printPages<Page<Override>>(ctx, '/overrides', ({ Items }) =>
        Items.length === 0 ? 'No override is in force.' : overridesText(Items),
      ),
    );

  override
    .command('remove <id>')
    .description('remove an override; the next such reply may create it again')
    .example('postrider override remove 019ab0c1-7d3e-7000-8000-000000000000')
    .asks(async (ctx, api, id: string) => {
      await api.call('DELETE', `/overrides/${encodeURIComponent(id)}`);
      ctx.print({ Removed: id }, `Removed ${id}.`);
    });
};

function tryText({ Tried, Due, Deferred, Paths }: TryAnswer, retry: string): string {
  const what =
    Tried > 0
      ? 'One message is sent now; if it is accepted, the rest follows.'
      : Due > 0
        ? `${Paths.every(({ State }) => State === 'closed') ? 'No path is closed. ' : ''}${counted(Due, 'recipient')} that waited because of an earlier failure or reply: tried now.`
        : 'Nothing was closed, so there is nothing to try.';
  return [
    what,
    ...(Deferred === 0
      ? []
      : [
          `Not tried, because a reply asked to wait: ${counted(Deferred, 'recipient')}. To try one now: ${retry}`,
        ]),
  ].join('\n');
}

/** The state once each of the paths that were tried has got a result, or after `TRY_MS`. */
async function triedState(
  state: () => Promise<State>,
  before: readonly Path[],
  { Tried }: TryAnswer,
): Promise<State> {
  const endMs = systemClock.monotonicMs() + TRY_MS;
  for (;;) {
    const now = await state();
    const results = now.Paths.filter((path) => resultLine(path, before) !== null);
    const isDone = results.length >= Math.max(1, Math.min(Tried, now.Paths.length));
    if (isDone || systemClock.monotonicMs() >= endMs) return now;
    await sleep(systemClock, LOOK_EVERY_MS);
  }
}

/** What the far end said to a path since `before`; null: nothing yet. */
function resultLine(path: Path, before: readonly Path[]): string | null {
  const was = before.find(({ Site, Source }) => Site === path.Site && Source === path.Source);
  const { LastSuccess: taken, LastFailure: failed } = path;
  const isTaken = taken !== null && taken.At !== was?.LastSuccess?.At;
  const hasFailed = failed !== null && failed.At !== was?.LastFailure?.At;
  if (hasFailed && !(isTaken && taken.At > failed.At)) {
    const until = path.WaitsUntil === null ? '' : ` It is tried again at ${path.WaitsUntil}.`;
    return `Result: ${path.Site} failed again: ${failed.Text}.${until}`;
  }
  return isTaken ? `Result: ${path.Site} accepted a message: ${taken.Text}` : null;
}

function pathLine(path: Path): string {
  return `${path.Site}: ${stateWord(path)}${path.Reason === null ? '' : `, ${path.Reason}`}`;
}

function matching(command: ContextCommand, all: string): ContextCommand {
  return command
    .option('--from <domain>', 'mail of this sender domain')
    .option('--to <domain>', 'mail to this recipient domain')
    .option('--site <site>', 'mail to this site: a provider, a relay, a domain, as `queue path` shows it')
    .option('--priority <priority>', 'critical, normal or bulk', oneOf(LANES))
    .option('--all', all)
    .apart('--all', '--from', '--to', '--site', '--priority');
}

/** Those conditions that are given; null: none. */
function matchOf({ from, to, site, priority, all }: MatchOptions): object | null {
  const match = { SenderDomain: from, RecipientDomain: to, Site: site, Priority: priority, All: all };
  return Object.values(match).every((value) => value === undefined) ? null : match;
}

function instantOf(text: string): string {
  const ms = parseDuration(text);
  if (ms !== null) return new Date(systemClock.now() + ms).toISOString();
  const at = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new UsageError(`--until "${text}": use 2027-01-31T08:00:00Z, or a duration such as 2h`);
  return new Date(at).toISOString();
}

function pathsText({ Items, Relays }: PathsAnswer): string {
  const failed = Relays.length === 0 ? '' : `\n\n${relaysText(Relays)}`;
  if (Items.length === 0) return `No path has been used since the start.${failed}`;
  // Held mail comes first, because it is usually what people look for.
  const shown = [...Items].sort((a, b) => Number(a.Reason === null) - Number(b.Reason === null));
  const rows = shown.map((path) => [
    path.Site,
    path.Source,
    stateWord(path),
    `${path.Connections.Open}/${path.Window}`,
    String(path.Waiting.critical + path.Waiting.normal + path.Waiting.bulk),
    String(path.InFlight),
    path.WaitsUntil ?? '',
    path.Reason ?? '',
  ]);
  const head = ['SITE', 'SOURCE', 'STATE', 'CONNS', 'WAITING', 'SENDING', 'UNTIL', 'WHY'];
  return `${table([head, ...rows])}${failed}`;
}
