/** What every place stands in: the page's frame, and messages that come and go. */
import { Outlet } from '@tanstack/react-router';
import { Toasts } from './components/toasts.tsx';

export function Shell() {
  return (
    <>
      <Outlet />
      <Toasts />
    </>
  );
}
