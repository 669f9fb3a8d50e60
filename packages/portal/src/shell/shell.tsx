/** What stands around every screen: the rail, the bar at the top, and what has to be said at once. */
import { ActionIcon } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { entry } from '../app/current-portal.ts';
import { Icon } from '../components/icon.tsx';
import { EmptyState, Loading, Page } from '../components/layout/page.tsx';
import { useTranslate } from '../locales/index.ts';
import { useSession } from '../session/use-session.ts';
import { ConnectionBanner } from './connection-banner.tsx';
import { Rail } from './sidebar.tsx';
import './shell.css';

// Menus and dialogues come right after the first screen: nobody waits for them.
const Palette = lazy(() => import('./command-palette.tsx'));
const UserMenu = lazy(() => import('./user-menu.tsx'));
const RailDrawer = lazy(() => import('./sidebar-drawer.tsx'));
const SessionDialogues = lazy(() => import('./session-dialogs.tsx'));
const Tour = lazy(() => import('../screens/tour/tour.tsx'));
const Notices = lazy(() => import('../components/toasts/toasts.tsx'));

/** Nothing is fetched for what was never opened. */
type Opened = 'never' | 'open' | 'closed';

export function Shell() {
  const t = useTranslate('shell');
  const { entries, environment } = useSession();
  const [drawer, setDrawer] = useState<Opened>('never');
  const [palette, setPalette] = useState<Opened>('never');
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // Also while something is typed: hence no tags and no editable content to ignore.
  useHotkeys([['mod+K', () => setPalette('open')]], [], true);
  useEffect(() => {
    if (path !== '') setDrawer((was) => (was === 'open' ? 'closed' : was));
  }, [path]);
  return (
    <div className="sy-shell">
      <a className="sy-skip" href="#content">
        {t('skip')}
      </a>
      <aside className="sy-rail">
        <Rail />
      </aside>
      <div className="sy-main">
        <header className="sy-bar">
          <ActionIcon
            className="sy-bar-menu"
            variant="subtle"
            color="gray"
            size="lg"
            aria-label={t('menu')}
            onClick={() => setDrawer('open')}
          >
            <Icon name="menu" size={20} />
          </ActionIcon>
          <SearchButton onOpen={() => setPalette('open')} />
          <EnvironmentBadge />
          <Suspense fallback={<span className="sy-avatar" />}>
            <UserMenu />
          </Suspense>
        </header>
        <ConnectionBanner />
        {entries.includes(entry) ? <Content path={path} /> : <WrongEntry />}
      </div>
      <Suspense>
        {drawer !== 'never' && (
          <RailDrawer isOpen={drawer === 'open'} onClose={() => setDrawer('closed')} />
        )}
        <SessionDialogues />
        <Notices />
        {environment === 'demo' && <Tour />}
      </Suspense>
      {palette !== 'never' && (
        <Suspense>
          <Palette isOpen={palette === 'open'} onClose={() => setPalette('closed')} />
        </Suspense>
      )}
    </div>
  );
}

/** Whoever goes to another screen by keyboard begins to read at its top. */
function Content({ path }: { readonly path: string }) {
  const main = useRef<HTMLElement>(null);
  const shownPath = useRef(path);
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    main.current?.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [path]);
  return (
    <main id="content" className="sy-content" ref={main} tabIndex={-1}>
      <Suspense fallback={<Loading />}>
        <Outlet />
      </Suspense>
    </main>
  );
}

/** Whoever belongs to the other portal is shown the way there. */
function WrongEntry() {
  const t = useTranslate('shell');
  const other = entry === 'portal' ? 'provider-portal' : 'portal';
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // Whoever asked for nothing in particular is led on: mails and bookmarks know one address alone.
  const isLedOn = path.replace(/\/$/, '').replace(`/${entry}`, '') === '';
  useEffect(() => {
    if (isLedOn) location.replace(`/${other}/`);
  }, [isLedOn, other]);
  if (isLedOn) return null;
  return (
    <main id="content" className="sy-content" tabIndex={-1}>
      <Page title={t('wrongEntry.title')}>
        <EmptyState icon="ban" title={t('wrongEntry.text')}>
          <a href={`/${other}/`}>{t(`wrongEntry.${other}`)}</a>
        </EmptyState>
      </Page>
    </main>
  );
}

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent);

function SearchButton({ onOpen }: { readonly onOpen: () => void }) {
  const t = useTranslate('shell');
  return (
    <button type="button" className="sy-search" onClick={onOpen}>
      <Icon name="search" size={16} />
      <span className="sy-cut">{t('search')}</span>
      <kbd>{isApple ? '⌘K' : 'Ctrl K'}</kbd>
    </button>
  );
}

function EnvironmentBadge() {
  const t = useTranslate('shell');
  const { environment, region } = useSession();
  if (environment === 'production') return null;
  return (
    <span className="sy-environment" title={t('environment.hint', { region })}>
      {t(`environment.${environment}`)}
    </span>
  );
}
