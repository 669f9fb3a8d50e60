/** The screens of the portal, from the routes of the page. */
import { type AnyRoute, useRouter } from '@tanstack/react-router';
import type { Screen } from './screen.ts';

export function useScreens(): readonly Screen[] {
  const routes: Readonly<Record<string, AnyRoute>> = useRouter().routesById;
  return Object.values(routes).flatMap(({ options }) => options.staticData?.screen ?? []);
}
