/** The first place: on a development server what was just sent, in production how things stand. */
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { ME } from '../api/me.ts';

export function Home() {
  const { data, isPending } = useQuery(ME);
  if (isPending) return null;
  return <Navigate to={data?.Mode === 'serve' ? '/overview' : '/inbox'} replace />;
}
