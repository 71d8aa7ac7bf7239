/**
 * The field in which words to search a list for are typed. They take effect 250 ms after the last key, and follow the address of
 * the page. In the history of the browser, each choice is one step, and all typing until Enter, or until the field loses the
 * focus, is one step.
 */

import { useNavigate, useSearch } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { useKeys } from './use-keys.ts';

const TYPING_MS = 250;
/** Servers and proxies refuse longer addresses. */
export const MAX_WORDS_CHARS = 1_000;

/** `goesOn`: typing continues, so the words replace the last step of the history. */
type OnWords = (words: string, goesOn?: boolean) => void;

/** `/` moves the focus to it, Esc away from it. `onEnter` is called once the list shows what Enter searched for. */
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
  const finish = (): void => {
    if (typed !== words) tell(typed);
    typing.end();
  };
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
        onBlur={finish}
        placeholder={placeholder}
        aria-label={label}
        aria-invalid={isWrong}
        onKeyDown={({ key, currentTarget }) => {
          if (key === 'Enter') {
            finish();
            setEntered(true);
          }
          if (key === 'Escape') currentTarget.blur();
        }}
        className="h-8 w-full text-ellipsis rounded-md border border-line-strong bg-page pr-2 pl-8 aria-invalid:border-bad"
      />
    </div>
  );
}

/** Typing in a field as steps of the history. It continues the last step as long as the address still says what was typed last. */
export function useTyping(words: string, onWords: OnWords) {
  const told = useRef<string | null>(null);
  const now = useRef({ words, onWords });
  now.current = { words, onWords };
  const tell = useCallback((next: string) => {
    const goesOn = told.current === now.current.words.trim();
    told.current = next.trim();
    now.current.onWords(next, goesOn);
  }, []);
  const end = useCallback(() => {
    told.current = null;
  }, []);
  return { tell, end };
}

/** The words of a `SearchBox`, kept as `q` in the address of the page. */
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
