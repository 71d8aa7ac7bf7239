/**
 * What a list is searched by: told once nobody types for a moment, and as it changes elsewhere. In the history of the browser
 * what is chosen is a step of its own, and what is typed until Enter, or until the field is left, is one.
 */

import { useNavigate, useSearch } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useKeys } from './use-keys.ts';

const TYPING_MS = 250;
/** An address of the page that holds more is refused by servers and proxies. */
export const MAX_WORDS_CHARS = 1_000;

/** `goesOn`: what was told last is typed on, so that it takes the place of that in the history. */
type OnWords = (words: string, goesOn?: boolean) => void;

/** `/` goes there, Esc leaves it. `onEnter`: what Enter does with what was found. */
export function SearchBox({
  words,
  label,
  placeholder = 'Search',
  isWrong = false,
  onWords,
  onEnter,
}: {
  words: string;
  label: string;
  placeholder?: string;
  isWrong?: boolean;
  onWords: OnWords;
  onEnter?(): void;
}) {
  const box = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState(words);
  const typing = useTyping(words, onWords);
  const { tell } = typing;
  const entered = useRef(onEnter);
  const [isEntered, setEntered] = useState(false);
  entered.current = onEnter;
  useKeys({ '/': () => box.current?.focus() });
  useEffect(() => setTyped(words), [words]);
  useEffect(() => {
    if (!isEntered || typed !== words) return;
    setEntered(false);
    entered.current?.();
  }, [isEntered, typed, words]);
  useEffect(() => {
    if (typed === words) return;
    const timer = setTimeout(() => tell(typed), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, words, tell]);
  return (
    <div className="relative min-w-0 flex-1">
      <Search size={14} aria-hidden className="absolute inset-y-0 left-2.5 my-auto text-soft" />
      <input
        ref={box}
        type="search"
        maxLength={MAX_WORDS_CHARS}
        aria-keyshortcuts="/"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={typing.end}
        placeholder={placeholder}
        aria-label={label}
        aria-invalid={isWrong}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') {
            if (typed !== words) tell(typed);
            typing.end();
            setEntered(true);
          }
          if (key === 'Escape') currentTarget.blur();
        }}
        className="h-8 w-full text-ellipsis rounded-md border border-line-strong bg-page pr-2 pl-8 aria-invalid:border-bad"
      />
    </div>
  );
}

/** What is typed in a field, told as steps of the history: it goes on while the address says what the field told last. */
export function useTyping(words: string, onWords: OnWords) {
  const told = useRef<string | null>(null);
  const now = useRef({ words, onWords });
  now.current = { words, onWords };
  const tell = useCallback((next: string) => {
    const goesOn = told.current === now.current.words;
    told.current = next;
    now.current.onWords(next, goesOn);
  }, []);
  const end = useCallback(() => {
    told.current = null;
  }, []);
  return { tell, end };
}

/** What the list of a place is searched by, as its address says it, for `SearchBox`. */
export function useSearchBox(
  from: '/domains' | '/suppressions' | '/templates' | '/access' | '/webhooks' | '/queue' | '/system',
) {
  const { q: words = '' } = useSearch({ from });
  const navigate = useNavigate({ from });
  const onWords: OnWords = useCallback(
    (next, replace = false) =>
      void navigate({
        search: ({ q: _, ...others }) => ({ ...others, ...(next.trim() === '' ? {} : { q: next }) }),
        replace,
      }),
    [navigate],
  );
  return { words, onWords };
}
