/** A list of the API that is read page by page: what is known of it, and how to read on. */
import { useInfiniteQuery } from '@tanstack/react-query';

interface Page<Item> {
  Items: readonly Item[];
  NextCursor: string | null;
}

export interface Pages<Item> {
  /** Undefined until the first page. */
  items: readonly Item[] | undefined;
  /** The last request failed. */
  error: Error | null;
  hasMore: boolean;
  isReading: boolean;
  more(): void;
  again(): void;
}

/** `isEnabled`: false asks nothing. */
export function usePages<Item>(
  key: readonly unknown[],
  ask: (after: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  isEnabled = true,
): Pages<Item> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) => ask(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.NextCursor ?? undefined,
    refetchOnWindowFocus: 'always',
    enabled: isEnabled,
  });
  return {
    items: query.data?.pages.flatMap(({ Items }) => Items),
    error: query.error,
    hasMore: query.hasNextPage,
    isReading: query.isFetchingNextPage,
    more: () => void query.fetchNextPage(),
    again: () => void query.refetch(),
  };
}
