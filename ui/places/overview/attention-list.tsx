/** What is wrong, the worst first: a sentence, since when, how much mail it concerns, what to do, and the button for it. */

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, type LinkProps } from '@tanstack/react-router';
import { CircleAlert, CircleCheck, CircleDashed, TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import type { Attention, AttentionItem } from '../../../src/client/api-types.ts';
import { commandOf, ME, mayDo } from '../../api/me.ts';
import { act } from '../../api/overview.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { countOf } from '../../components/count.ts';
import { withLocalTimes } from '../../components/local-times.ts';
import { Sentence } from '../../components/sentence.tsx';
import { Ago, Lasting, NextTry, Until } from '../../components/time.tsx';
import { messageOf, toast } from '../../components/toasts.tsx';
import { undoable } from '../../components/undoable.ts';
import { mayAct } from './may-act.ts';

const OUTCOME_MS = 2_000;
/** Of each kind, before the others are asked for: one cause often concerns twenty sites or webhooks, above all figures. */
const FIRST = 3;

export function AttentionList({ attention }: { attention: Attention }) {
  const [leaving, setLeaving] = useState<ReadonlySet<string>>(new Set());
  const queries = useQueryClient();
  const [showsAll, setShowsAll] = useState(false);
  const items = attention.Items.filter((item) => !leaving.has(keyOf(item)));
  const first = firstOfEach(items);
  /** Released mail cannot be called back. */
  const release = (item: AttentionItem): void => {
    const { Action, Subject } = item;
    if (Action === null) return;
    setLeaving((before) => new Set(before).add(keyOf(item)));
    undoable({
      text: 'The hold is released',
      run: (isLeaving) => act(Action, isLeaving),
      onBack: () => setLeaving((before) => new Set([...before].filter((key) => !key.endsWith(Subject)))),
      onDone: () => void queries.invalidateQueries(),
    });
  };
  if (items.length === 0) return <Nothing examinedAt={attention.ExaminedAt} />;
  return (
    <>
      <ul aria-label="What needs attention" className="grid rounded-md border border-line">
        {(showsAll ? items : first).map((item) => (
          <Item key={keyOf(item)} item={item} onRelease={() => release(item)} />
        ))}
      </ul>
      {first.length < items.length && (
        <Button className="justify-self-start" onClick={() => setShowsAll(!showsAll)}>
          {showsAll ? 'Show fewer' : `Show ${items.length - first.length} more of the same kind`}
        </Button>
      )}
      {attention.More && (showsAll || first.length === items.length) && (
        <p className="text-soft">There is more of some kind: these are the first twenty of each.</p>
      )}
      <Unexamined examinedAt={attention.ExaminedAt} />
    </>
  );
}

function Nothing({ examinedAt }: { examinedAt: string | null }) {
  const { data: me } = useQuery(ME);
  if (me === undefined) return null;
  const isOpen = me.AllDomains && examinedAt === null;
  const Icon = isOpen ? CircleDashed : CircleCheck;
  return (
    <div className="flex items-start gap-2 rounded-md border border-line px-3 py-2.5">
      <Icon size={18} aria-hidden className={`mt-px shrink-0 ${isOpen ? 'text-soft' : 'text-good'}`} />
      <div className="grid gap-0.5">
        <p>
          {isOpen
            ? 'Nothing is known to need attention.'
            : me.AllDomains
              ? 'Nothing needs attention.'
              : 'Nothing about your domains needs attention.'}
        </p>
        <Unexamined examinedAt={examinedAt} />
      </div>
    </div>
  );
}

/** Nobody has looked at the server itself; nothing, where somebody has or the person does not see the server. */
function Unexamined({ examinedAt }: { examinedAt: string | null }) {
  const { data: me } = useQuery(ME);
  if (me?.AllDomains !== true || examinedAt !== null) return null;
  return (
    <p className="text-soft">
      This server itself (certificates, disk, resolver, clock) was not checked so far.{' '}
      {mayDo(me, 'admin', 'runDoctor') && (
        <Link to="/system" className="text-accent underline">
          Examine it
        </Link>
      )}
    </p>
  );
}

/** The worst of each kind, in their order; what is wrong with the server all, as one says nothing of another. */
function firstOfEach(items: readonly AttentionItem[]): readonly AttentionItem[] {
  const counts = new Map<string, number>();
  return items.filter(({ Kind }) => {
    const count = (counts.get(Kind) ?? 0) + 1;
    counts.set(Kind, count);
    return Kind === 'server' || count <= FIRST;
  });
}

function keyOf({ Kind, Subject }: AttentionItem): string {
  return `${Kind} ${Subject}`;
}

function Item({ item, onRelease }: { item: AttentionItem; onRelease(): void }) {
  const { Severity, Message, Fix, Action, Command } = item;
  const { data: me } = useQuery(ME);
  const command =
    Command === null || !mayDo(me, 'admin', 'getConfig')
      ? null
      : commandOf(me, Command.replace(/^postrider /, ''));
  const isFailing = Severity === 'Failing';
  const Icon = isFailing ? CircleAlert : TriangleAlert;
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 border-line px-3 py-3 not-first:border-t">
      <div className="flex min-w-0 flex-1 basis-72 gap-2.5">
        <Icon
          size={18}
          aria-label={isFailing ? 'Failing' : 'Warning'}
          className={`mt-px shrink-0 ${isFailing ? 'text-bad' : 'text-warn'}`}
        />
        <div className="grid min-w-0 gap-0.5">
          <p>
            <Sentence text={withLocalTimes(Message)} />
          </p>
          <Facts item={item} />
          <p className="text-soft">
            <Sentence text={Fix} />
          </p>
          <Where item={item} />
        </div>
      </div>
      <div className="ml-7 flex shrink-0 items-center gap-1 empty:hidden min-[44rem]:ml-0">
        {Action !== null && mayAct(me, Action) && (
          <ActionButton item={item} action={Action} onRelease={onRelease} />
        )}
        {command !== null && <CopyButton text={command} label={`Copy the command: ${command}`} />}
      </div>
    </li>
  );
}

/** Of each kind that has a page: what that needs (a scope, and the operation by which it may be granted alone), and where it is. */
const PAGES: Partial<
  Record<
    AttentionItem['Kind'],
    { name: string; needs: readonly [string, string]; to(subject: string): LinkProps }
  >
> = {
  domain: {
    name: 'domain',
    needs: ['domains:read', 'getDomain'],
    to: (name) => ({ to: '/domains/$name', params: { name }, search: {} }),
  },
  'guard-rail': {
    name: 'domain',
    needs: ['domains:read', 'getDomain'],
    to: (name) => ({ to: '/domains/$name', params: { name }, search: { view: 'limits' } }),
  },
  webhook: {
    name: 'webhook',
    needs: ['webhooks:read', 'getWebhook'],
    to: (id) => ({ to: '/webhooks/$id', params: { id } }),
  },
  site: {
    name: 'site',
    needs: ['admin', 'getSite'],
    to: (site) => ({ to: '/queue/$site', params: { site } }),
  },
  hold: {
    name: 'holds',
    needs: ['admin', 'listHolds'],
    to: () => ({ to: '/queue', search: { view: 'holds' } }),
  },
  'warm-up': {
    name: 'warm-up',
    needs: ['admin', 'getWarmup'],
    to: () => ({ to: '/system', search: { tab: 'warmup' } }),
  },
};

/** The page of what it is about. */
function Where({ item: { Kind, Subject } }: { item: AttentionItem }) {
  const { data: me } = useQuery(ME);
  // Before there is a hold a guard-rail is about the domain.
  const page = PAGES[Kind === 'guard-rail' && !Subject.includes('.') ? 'hold' : Kind];
  if (page === undefined || !mayDo(me, ...page.needs)) return null;
  return (
    <Link {...page.to(Subject)} className="justify-self-start text-accent underline">
      Show the {page.name}
    </Link>
  );
}

function Facts({ item: { Kind, Since, Until: until, Waiting } }: { item: AttentionItem }) {
  const facts = [
    Waiting === null ? null : (
      <span key="waiting" className="tabular-nums">
        {countOf(Waiting, Kind === 'webhook' ? 'call' : 'recipient')} waiting
      </span>
    ),
    Since === null ? null : (
      <span key="since">
        {Kind === 'server' ? (
          <>
            found <Ago at={Since} />
          </>
        ) : (
          <Lasting at={Since} />
        )}
      </span>
    ),
    until === null ? null : (
      <span key="until">
        {Kind === 'site' || Kind === 'relay' ? (
          <>
            next try <NextTry at={until} />
          </>
        ) : (
          <Until at={until} before="ends" after="ended" />
        )}
      </span>
    ),
  ].filter((fact) => fact !== null);
  if (facts.length === 0) return null;
  return <p className="flex flex-wrap gap-x-3 text-soft text-xs">{facts}</p>;
}

function ActionButton({
  item,
  action,
  onRelease,
}: {
  item: AttentionItem;
  action: NonNullable<AttentionItem['Action']>;
  onRelease(): void;
}) {
  const queries = useQueryClient();
  const { mutate, isPending } = useMutation({
    mutationFn: () => act(action),
    onSuccess: () => toast({ text: `${action.Label}: done` }),
    onError: (error) => toast({ text: `${action.Label}: ${messageOf(error)}` }),
    onSettled() {
      void queries.invalidateQueries();
      // The attempt has ended by then.
      setTimeout(() => void queries.invalidateQueries({ queryKey: ['attention'] }), OUTCOME_MS);
    },
  });
  const isRelease = item.Kind === 'hold' || item.Kind === 'guard-rail';
  return (
    <Button isBusy={isPending} onClick={isRelease ? onRelease : () => mutate()}>
      {isPending ? 'Working…' : action.Label}
    </Button>
  );
}
