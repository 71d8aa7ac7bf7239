/** Tokens: what each may do, for which domains, when it was used last; below each what was made with it. */
import { KeyRound, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Me, Token } from '../../../../src/client/api-types.ts';
import { capital } from '../../../../src/lib/capital.ts';
import { listTokens } from '../../../api/access.ts';
import { commandOf, mayDo } from '../../../api/me.ts';
import { Button } from '../../../components/button.tsx';
import { CommandText } from '../../../components/copy.tsx';
import { type Columns, DataTable } from '../../../components/data-table.tsx';
import { CheckField } from '../../../components/field.tsx';
import { Listing } from '../../../components/more-button.tsx';
import { Notice } from '../../../components/notice.tsx';
import { NotYet } from '../../../components/page.tsx';
import { usePages } from '../../../components/pages.ts';
import { SearchBox, useSearchBox } from '../../../components/search-box.tsx';
import { holdsWords } from '../../../components/search-text.ts';
import { Ago, Ends } from '../../../components/time.tsx';
import { DomainsText } from '../domains-text.tsx';
import { TOKENS } from '../keys.ts';
import { Made, useMakerText } from '../makers.tsx';
import { rightsText } from '../rights-words.ts';
import { NewTokenDialog } from './new-token-dialog.tsx';
import { RotateDialog } from './rotate-dialog.tsx';
import { TokenMenu } from './token-menu.tsx';
import { standingOf, type TokenRow, treeOf } from './token-tree.ts';

export function TokensView({ me }: { me: Me }) {
  const list = usePages(TOKENS, listTokens, { isWhole: true });
  const search = useSearchBox('/access');
  const makerText = useMakerText(me);
  const [isMaking, setMaking] = useState(false);
  const [replaced, setReplaced] = useState<Token | null>(null);
  const [hasEnded, setEnded] = useState(false);
  const { items } = list;
  if (items === undefined) return <NotYet error={list.error} onAgain={list.again} />;
  const mayChange = mayDo(me, 'tokens:write');
  const now = Date.now();
  const shown = items.filter((token) => hasEnded || standingOf(token, now) === 'live');
  const found = shown.filter((token) => holdsWords(saidOf(token, makerText), search.words));
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <p className="max-w-prose text-soft">
          A program sends its token with every request. Give each program one of its own, with no more rights
          than it needs.
          {!mayChange && me.Mode === 'dev' && (
            <>
              {' '}
              This page makes none without a sign-in: use{' '}
              <CommandText
                text={commandOf(me, `token create --domain ${me.Domains[0]?.Domain ?? 'example.com'}`)}
              />
            </>
          )}
        </p>
        {mayChange && (
          <Button look="main" onClick={() => setMaking(true)}>
            <Plus size={14} aria-hidden /> New token
          </Button>
        )}
      </div>
      {items.length > 1 && (
        <div className="flex max-w-md">
          <SearchBox {...search} label="Find a token" placeholder="Name, domain, right or maker" />
        </div>
      )}
      <Listing
        list={list}
        found={found}
        search={{ ...search, nothing: 'No token matches', all: 'Show all tokens' }}
        empty={
          <Notice title="No tokens yet" icon={<KeyRound aria-hidden />}>
            {mayChange
              ? 'Create one for the first program that sends mail.'
              : 'There are none for your domains.'}
          </Notice>
        }
        more="Show older tokens"
      >
        {(rows) => (
          <DataTable
            label="Tokens"
            isWide
            columns={columnsOf(makerText, now)}
            rows={treeOf(rows)}
            keyOf={({ token }) => token.TokenID}
            actions={
              mayChange &&
              (({ token }) =>
                standingOf(token, now) === 'live' && (
                  <TokenMenu token={token} all={items} onReplace={() => setReplaced(token)} />
                ))
            }
          />
        )}
      </Listing>
      {(hasEnded || shown.length < items.length) && (
        <CheckField
          label="Show revoked and ended tokens"
          checked={hasEnded}
          onChange={({ target }) => setEnded(target.checked)}
        />
      )}
      {replaced !== null && <RotateDialog token={replaced} onClose={() => setReplaced(null)} />}
      {isMaking && <NewTokenDialog me={me} onClose={() => setMaking(false)} />}
    </>
  );
}

/** What a token is found by. */
function saidOf(token: Token, makerText: (id: string | null) => string): readonly (string | null)[] {
  const { TokenID, Name: name, Domains, Scopes, CreatedBy, IPAllowList, LastUsedIP } = token;
  const domains = Domains.includes('*') ? ['all domains'] : Domains;
  return [name, TokenID, ...domains, rightsText(Scopes), makerText(CreatedBy), ...IPAllowList, LastUsedIP];
}

function columnsOf(makerText: (id: string | null) => string, now: number): Columns<TokenRow> {
  return [
    { name: 'Name', width: 'w-1/5', cell: (row) => <Name row={row} now={now} /> },
    { name: 'May', cell: ({ token }) => <Rights token={token} /> },
    { name: 'Domains', width: 'w-[17%]', cell: ({ token }) => <DomainsText domains={token.Domains} /> },
    { name: 'Last used', width: 'w-32', cell: ({ token }) => <LastUse token={token} /> },
    { name: 'Ends', width: 'w-34', cell: ({ token }) => <Ends at={token.ExpiresAt} /> },
    {
      name: 'Made',
      width: 'w-36',
      cell: ({ token }) => <Made at={token.CreatedAt} by={makerText(token.CreatedBy)} />,
    },
  ];
}

/** Of a depth, what Tailwind finds in this text. */
const INDENTS = ['', 'pl-4', 'pl-8', 'pl-12', 'pl-16'] as const;

function Name({ row: { token, depth }, now }: { row: TokenRow; now: number }) {
  const standing = standingOf(token, now);
  return (
    <span className={`block ${INDENTS[depth] ?? ''}`}>
      {depth > 0 && (
        <span aria-hidden className="mr-1 text-soft">
          └
        </span>
      )}
      <bdi className={standing === 'live' ? '' : 'text-soft line-through'}>
        {token.Name || 'without a name'}
      </bdi>
      {standing !== 'live' && <span className="ml-2 font-normal text-soft">{standing}</span>}
    </span>
  );
}

function Rights({ token: { Scopes, Sandbox, IPAllowList, RateLimit } }: { token: Token }) {
  const limits = [
    ...(Sandbox ? ['sandbox only'] : []),
    ...(RateLimit === null ? [] : [`at most ${RateLimit} a second`]),
    ...(IPAllowList.length === 0
      ? []
      : [`from ${IPAllowList.slice(0, 2).join(', ')}${IPAllowList.length > 2 ? ' …' : ''}`]),
  ];
  return (
    <>
      {capital(rightsText(Scopes))}
      {limits.length > 0 && (
        <span className="block text-soft text-xs" title={IPAllowList.join('\n')}>
          {capital(limits.join(' · '))}
        </span>
      )}
    </>
  );
}

function LastUse({ token: { LastUsedAt, LastUsedIP } }: { token: Token }) {
  if (LastUsedAt === null) return <span className="text-soft">never</span>;
  return (
    <>
      <Ago at={LastUsedAt} />
      {LastUsedIP !== null && <span className="block text-soft text-xs">from {LastUsedIP}</span>}
    </>
  );
}
