/** Creates the routes from the screen table. Each screen is loaded when it is opened. */
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { type ComponentType, lazy, Suspense } from 'react';
import { currentPortal } from './app/current-portal.ts';
import type { Screen } from './app/screen.ts';
import { isAccessibleTo, isAvailable } from './app/screen-access.ts';
import { ErrorMessage } from './components/layout/error-message.tsx';
import { EmptyState, Loading, Page } from './components/layout/page.tsx';
import { useTranslate } from './locales/index.ts';
import { screens } from './screens.ts';
import { useSession } from './session/use-session.ts';
import { Shell } from './shell/shell.tsx';

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The root route has no screen. */
    screen?: Screen;
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

function ScreenError({ error, reset }: { readonly error: unknown; readonly reset: () => void }) {
  const t = useTranslate('shell');
  return (
    <Page title={t('fault.title')}>
      <ErrorMessage fault={error} onRetry={reset} />
    </Page>
  );
}

const rootRoute = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  errorComponent: ScreenError,
});

function AccessGuard({
  screen,
  content: Content,
}: {
  readonly screen: Screen;
  readonly content: ComponentType;
}) {
  const session = useSession();
  if (!isAvailable(screen, session, currentPortal)) return <NotFound />;
  if (!isAccessibleTo(screen, session, currentPortal)) return <NotAllowed />;
  return (
    <Suspense fallback={<Loading />}>
      <Content />
    </Suspense>
  );
}

/** Loads the screen and the styles of its components. */
async function fetchScreen({ load }: Screen): Promise<{ default: ComponentType }> {
  const [screen] = await Promise.all([load(), import('./theme/component-styles.ts')]);
  return screen;
}

function createScreenRoute(screen: Screen) {
  const content = lazy(() => fetchScreen(screen));
  const component = () => <AccessGuard screen={screen} content={content} />;
  // The router loads the file when the pointer is over a link.
  const preload = async (): Promise<void> => {
    await fetchScreen(screen);
  };
  return createRoute({
    getParentRoute: () => rootRoute,
    path: screen.path,
    staticData: { screen },
    component: Object.assign(component, { preload }),
    errorComponent: ScreenError,
  });
}

/** Loads the first screen in parallel with the session. */
export function preloadFirstScreen(pathname: string): void {
  const path = pathname.slice(currentPortal.length + 1).replace(/(.)\/$/, '$1') || '/';
  const firstScreen =
    screens.find((screen) => screen.path === path) ??
    screens.find((screen) =>
      new RegExp(`^${screen.path.replaceAll(/\$\w+/g, '[^/]+')}$`).test(path),
    );
  // The route loads the file again and shows the error.
  if (firstScreen !== undefined) fetchScreen(firstScreen).catch(() => {});
}

/** Search parameters as plain texts, without JSON. */
function readSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

function writeSearch(search: Record<string, unknown>): string {
  const present = Object.entries(search).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(
    present.map(([name, value]) => [name, String(value)]),
  ).toString();
  return text === '' ? '' : `?${text}`;
}

export const router = createRouter({
  routeTree: rootRoute.addChildren(screens.map(createScreenRoute)),
  basepath: `/${currentPortal}`,
  defaultPreload: 'intent',
  scrollRestoration: false,
  parseSearch: readSearch,
  stringifySearch: writeSearch,
});
