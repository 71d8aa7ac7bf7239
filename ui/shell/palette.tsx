/** From anywhere to a place, a message, or the mail of an address: opened by Ctrl K or the button of the rail. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useId, useRef, useState } from 'react';
import { Dialog } from '../components/dialog.tsx';
import { MAX_WORDS_CHARS } from '../components/search-box.tsx';
import { addressOf } from '../components/search-text.ts';
import { type DashboardPlace, usePlaces } from './places.ts';

interface Target {
  name: string;
  to: string;
  search: { q?: string };
}

/** The part of an address before its @ may end in a number, a domain may not. */
const DOMAIN = /^[^\s/:@]{1,200}\.(?:xn--[^\s/:.]{1,59}|[^\s/:.\d]{2,63})$/i;
const MESSAGE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function Palette({ onClose }: { onClose(): void }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const box = useRef<HTMLInputElement>(null);
  // Behind the dialog's own effect, which gives the focus to its first button.
  useEffect(() => box.current?.focus(), []);
  const targets = targetsFor(text.trim(), usePlaces());
  const open = (target: Target | undefined): void => {
    if (target === undefined) return;
    onClose();
    void navigate({ to: target.to, search: target.search });
  };
  const onKey = (event: React.KeyboardEvent): void => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') open(targets[at]);
    else if (by !== undefined) setAt((at + by + targets.length) % Math.max(1, targets.length));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find" isAtTop onClose={onClose}>
      <input
        ref={box}
        role="combobox"
        maxLength={MAX_WORDS_CHARS}
        aria-expanded
        aria-controls={list}
        aria-activedescendant={`${list}-${at}`}
        aria-label="Address, message id, subject or place"
        placeholder="Address, message id, subject or place"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
        className="h-10 w-full rounded-md border border-line-strong bg-page px-3"
      />
      <div id={list} role="listbox" aria-label="Where to go" className="mt-2">
        {targets.map((target, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
          <div
            key={target.name}
            id={`${list}-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === at}
            onClick={() => open(target)}
            onPointerMove={() => setAt(place)}
            className={`flex min-h-9 cursor-pointer items-center rounded-md px-3 ${place === at ? 'bg-chosen' : ''}`}
          >
            <bdi className="truncate">{target.name}</bdi>
          </div>
        ))}
      </div>
    </Dialog>
  );
}

/** Opens with Ctrl K, or ⌘ K, wherever the focus is. */
export function usePaletteKey(open: () => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.key.toLowerCase() !== 'k') return;
      event.preventDefault();
      if (document.querySelector('dialog[open]') === null) open();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [open]);
}

/** At places that the person may see. */
function targetsFor(text: string, all: readonly DashboardPlace[]): readonly Target[] {
  return everyTarget(text, all).filter(({ to }) => all.some(({ path }) => to.startsWith(path)));
}

function everyTarget(text: string, all: readonly DashboardPlace[]): readonly Target[] {
  const places = all
    .filter(({ name }) => name.toLowerCase().startsWith(text.toLowerCase()))
    .map(({ name, path }) => ({ name, to: path, search: {} }));
  if (text === '') return places;
  const mail = (name: string, q: string): Target => ({ name, to: '/messages', search: { q } });
  if (MESSAGE_ID.test(text))
    return [{ name: `Message ${text}`, to: `/messages/${text.toLowerCase()}`, search: {} }];
  const address = addressOf(text);
  if (address !== null)
    return [
      mail(`Mail to ${address}`, address),
      mail(`Mail from ${address}`, `from:${address}`),
      { name: `Suppressions of ${address}`, to: '/suppressions', search: { q: address } },
    ];
  const subject = mail(
    `Mail whose subject holds “${text}”`,
    /[:@"]/.test(text) ? `subject:"${text.replaceAll('"', '')}"` : text,
  );
  const domain = text.toLowerCase();
  const ofDomain = [
    mail(`Mail from the domain ${text}`, `domain:${text}`),
    mail(`Mail to the domain ${text}`, `@${text}`),
    { name: `Mail that waits for ${text}`, to: `/queue/${domain}`, search: {} },
    { name: `Sender domain ${text}`, to: `/domains/${domain}`, search: {} },
  ];
  return [...places, ...(DOMAIN.test(text) ? ofDomain : []), subject];
}
