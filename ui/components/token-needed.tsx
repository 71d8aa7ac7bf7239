/** What is shown where the server asks for a token: people cannot sign in to the dashboard yet. */
import { Notice } from './notice.tsx';

export function TokenNeeded() {
  return (
    <Notice title="The dashboard is closed on this server">
      <p>
        It opens for a development server (<code className="font-mono">npm start</code>) on the machine it
        runs on. Here, use the commands, for example <code className="font-mono">postrider messages</code>, or
        the API with a token:{' '}
        <a href="/api/v1/docs" className="text-accent underline">
          /api/v1/docs
        </a>
        .
      </p>
    </Notice>
  );
}
