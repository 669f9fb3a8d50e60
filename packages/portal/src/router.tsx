/** Addresses to screens, made from the table of screens; each is fetched when it is first wanted. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { type ComponentType, lazy, Suspense } from 'react';
import { entry } from './app/current-portal.ts';
import type { Screen } from './app/screen.ts';
import { type Access, isHere, isOpenTo } from './app/screen-access.ts';
import { Problem } from './components/layout/error-message.tsx';
import { EmptyState, Loading, Page } from './components/layout/page.tsx';
import { useTranslate } from './locales/index.ts';
import { screens } from './screens.ts';
import { useSession } from './session/use-session.ts';
import { Shell } from './shell/shell.tsx';

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The users that may open the route; the root has none of its own. */
    access?: Access;
  }
}

function NotFound() {
  const t = useTranslate('shell');
  return (
    <Page title={t('notFound.title')}>
      <EmptyState icon="search" title={t('notFound.title')}>
        {t('notFound.text')}
      </EmptyState>
    </Page>
  );
}

function NotAllowed() {
  const t = useTranslate('shell');
  return (
    <Page title={t('notAllowed.title')}>
      <EmptyState icon="ban" title={t('notAllowed.title')}>
        {t('notAllowed.text')}
      </EmptyState>
    </Page>
  );
}

function ScreenFault({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  const t = useTranslate('shell');
  return (
    <Page title={t('fault.title')}>
      <Problem fault={error} onRetry={reset} />
    </Page>
  );
}

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: ScreenFault,
});

function Guarded({
  screen,
  content: Content,
}: {
  readonly screen: Screen;
  readonly content: ComponentType;
}) {
  const session = useSession();
  if (!isHere(screen, session, entry)) return <NotFound />;
  if (!isOpenTo(screen, session, entry)) return <NotAllowed />;
  return (
    <Suspense fallback={<Loading />}>
      <Content />
    </Suspense>
  );
}

/** The screen, and what its parts look like. */
async function fetchScreen({ load }: Screen): Promise<{ default: ComponentType }> {
  const [screen] = await Promise.all([load(), import('./theme/component-styles.ts')]);
  return screen;
}

function routeOf(screen: Screen) {
  const content = lazy(() => fetchScreen(screen));
  const component = () => <Guarded screen={screen} content={content} />;
  // The router fetches the file as soon as a link to it is pointed at.
  const preload = async (): Promise<void> => {
    await fetchScreen(screen);
  };
  return createRoute({
    getParentRoute: () => rootRoute,
    path: screen.path,
    staticData: { access: screen },
    component: Object.assign(component, { preload }),
    errorComponent: ScreenFault,
  });
}

/** The screen that was asked for comes beside the session, and not after it. */
export function preloadFirstScreen(pathname: string): void {
  const path = pathname.slice(entry.length + 1).replace(/(.)\/$/, '$1') || '/';
  const firstScreen = screens.find((screen) =>
    new RegExp(`^${screen.path.replaceAll(/\$\w+/g, '[^/]+')}$`).test(path),
  );
  // What does not come now is asked for again, and told then.
  if (firstScreen !== undefined) fetchScreen(firstScreen).catch(() => {});
}

/** Plain texts in the address, as people write and read them. */
function readSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

function writeSearch(search: Record<string, unknown>): string {
  const present = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(present.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

export const router = createRouter({
  routeTree: rootRoute.addChildren(screens.map(routeOf)),
  basepath: `/${entry}`,
  defaultPreload: 'intent',
  scrollRestoration: false,
  parseSearch: readSearch,
  stringifySearch: writeSearch,
});
