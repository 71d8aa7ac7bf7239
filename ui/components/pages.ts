/** A list of the API that is read page by page: what is known of it, and how to read on. */
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';

interface Page<Item> {
  Items: readonly Item[];
  NextCursor: string | null;
}

export interface Pages<Item> {
  /** Undefined until the first page. */
  items: readonly Item[] | undefined;
  /** These are what the search before found; the answer to this one is on its way. */
  isOld: boolean;
  /** The last request failed. */
  error: Error | null;
  hasMore: boolean;
  isReading: boolean;
  more(): void;
  again(): void;
}

/** So many are read of a list that is read as a whole, before somebody asks for more. */
const WHOLE_PAGES = 20;

/**
 * `isEnabled`: false asks nothing. `everyMs`: all pages that are shown are read again so often. `isSearch`: under another
 * key the same list is searched for something else, and shows what it has until the answer comes. `isWhole`: one page is read
 * after the other, for what is counted or found in the page itself.
 */
export function usePages<Item>(
  key: readonly unknown[],
  ask: (after: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  {
    isEnabled = true,
    everyMs,
    isSearch = false,
    isWhole = false,
  }: { isEnabled?: boolean; everyMs?: number; isSearch?: boolean; isWhole?: boolean } = {},
): Pages<Item> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => ask(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.NextCursor ?? undefined,
    refetchOnWindowFocus: 'always',
    enabled: isEnabled,
    ...(everyMs === undefined ? {} : { refetchInterval: everyMs }),
    ...(isSearch ? { placeholderData: keepPreviousData } : {}),
  });
  const { fetchNextPage, hasNextPage, isFetching, isError } = query;
  const isShort = (query.data?.pages.length ?? 0) < WHOLE_PAGES;
  const readsOn = isWhole && isShort && hasNextPage && !isFetching && !isError;
  useEffect(() => {
    // Whoever else shows the list reads it on too.
    if (readsOn) void fetchNextPage({ cancelRefetch: false });
  }, [readsOn, fetchNextPage]);
  return {
    items: query.data?.pages.flatMap(({ Items }) => Items),
    isOld: query.isPlaceholderData,
    error: query.error,
    hasMore: query.hasNextPage && !query.isPlaceholderData,
    isReading: query.isFetchingNextPage,
    more: () => void query.fetchNextPage(),
    again: () => void query.refetch(),
  };
}
