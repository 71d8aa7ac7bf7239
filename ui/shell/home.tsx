/** The first place: on a development server what was just sent, in production how things stand. */
import { useQuery } from '@tanstack/react-query';
import { Navigate } from '@tanstack/react-router';
import { ME } from '../api/me.ts';
import { Notice } from '../components/notice.tsx';
import { usePlaces } from './places.ts';

export function Home() {
  const { data, isPending } = useQuery(ME);
  const places = usePlaces();
  if (isPending) return null;
  const wanted = data?.Mode === 'serve' ? '/overview' : '/inbox';
  const place = places.find(({ path }) => path === wanted) ?? places[0];
  if (place !== undefined) return <Navigate to={place.path} replace />;
  return (
    <Notice title="There is nothing here that you may see">
      Your rights are for sending mail. An operator can give you more.
    </Notice>
  );
}
