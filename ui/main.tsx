/** The entry: the page's one root, with the cache of what the API answered and the addresses of its places. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { asksAgainAfterMs, mayHelpAgain } from './api/call.ts';
import { ME } from './api/me.ts';
import { SESSION } from './api/session.ts';
import { applyTheme, storedTheme } from './components/theme.ts';
import { createAppRouter } from './router.tsx';
import './theme.css';

applyTheme(storedTheme());

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      // A server of this machine answers without a network too, and of another the page says that it does not.
      networkMode: 'always',
      refetchOnReconnect: true,
      // What failed is asked for again while it is looked at, also where it is otherwise asked for once.
      refetchInterval: ({ state: { error } }) => asksAgainAfterMs(error) || false,
      retry: (tries, error) => tries < 3 && mayHelpAgain(error),
    },
    // Answers with new tokens and passwords are not kept. Without a network a change fails at once: one that waited for it
    // would be made later, also where its dialog was cancelled meanwhile.
    mutations: { gcTime: 0, networkMode: 'always' },
  },
});
// Asked while the page is being built; where nobody is signed in, the page asks for it.
queries.fetchQuery(SESSION).then(
  () => queries.prefetchQuery(ME),
  () => undefined,
);
const router = createAppRouter();
const root = document.getElementById('root');
if (root === null) throw new TypeError('index.html has an element #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
