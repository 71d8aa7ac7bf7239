/** What the texts become with the sample variables, asked for once nobody types for a moment. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { TextsRendering } from '../../../src/client/api-types.ts';
import { ApiError, type FieldProblem } from '../../api/call.ts';
import { renderTexts, TEMPLATES } from '../../api/templates.ts';
import type { Texts } from './use-draft.ts';
import type { Variables } from './variables.ts';

const TYPING_MS = 300;

export interface Rendering {
  /** The last that could be filled in. */
  data: TextsRendering | undefined;
  /** What is wrong with the texts, or with the variables. */
  problems: readonly FieldProblem[];
  /** Why there is no answer at all. */
  error: Error | null;
}

export function useRendering(texts: Texts, variables: Variables): Rendering {
  const wanted = useSettled(JSON.stringify([texts, variables]));
  const { data, error } = useQuery({
    queryKey: [...TEMPLATES, 'rendering', wanted],
    queryFn: ({ signal }) => {
      const [given, Variables] = JSON.parse(wanted) as [Texts, Variables];
      return renderTexts({ ...given, Variables }, signal);
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
  const last = useRef(data);
  last.current = data ?? last.current;
  const problems = error instanceof ApiError ? error.problems : [];
  return { data: last.current, problems, error: problems.length === 0 ? error : null };
}

/** The value once it has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
