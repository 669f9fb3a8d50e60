/** The frame of all screens: sidebar, top bar, banners and dialogs. */
import './shell.css';
import { ActionIcon } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { connectionMonitor } from '../api/connection-monitor.ts';
import { currentPortal } from '../app/current-portal.ts';
import { Icon } from '../components/icon.tsx';
import { EmptyState, Loading, Page } from '../components/layout/page.tsx';
import { useTranslate } from '../locales/index.ts';
import { useSession } from '../session/use-session.ts';
import { Sidebar } from './sidebar.tsx';

// Menus and dialogs are loaded after the first screen.
const CommandPalette = lazy(() => import('./command-palette.tsx'));
const UserMenu = lazy(() => import('./user-menu.tsx'));
const SidebarDrawer = lazy(() => import('./sidebar-drawer.tsx'));
const SessionDialogs = lazy(() => import('./session-dialogs.tsx'));
const Tour = lazy(() => import('../screens/tour/tour.tsx'));
const Toasts = lazy(() => import('../components/toasts/toasts.tsx'));

/** A component that was never opened is not loaded. */
type Opened = 'never' | 'open' | 'closed';

export function Shell() {
  const t = useTranslate('shell');
  const { entries, environment } = useSession();
  const [drawer, setDrawer] = useState<Opened>('never');
  const [palette, setPalette] = useState<Opened>('never');
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // Works in inputs too: no tags and no editable content are ignored.
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
        <Sidebar />
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
        {entries.includes(currentPortal) ? <Content path={path} /> : <WrongPortal />}
      </div>
      <Suspense>
        {drawer !== 'never' && (
          <SidebarDrawer isOpen={drawer === 'open'} onClose={() => setDrawer('closed')} />
        )}
        <SessionDialogs />
        <Toasts />
        {environment === 'demo' && <Tour />}
      </Suspense>
      {palette !== 'never' && (
        <Suspense>
          <CommandPalette isOpen={palette === 'open'} onClose={() => setPalette('closed')} />
        </Suspense>
      )}
    </div>
  );
}

/** After navigation by keyboard, focus and scroll position move to the top. */
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

/** Links users of the other portal to their portal. */
function WrongPortal() {
  const t = useTranslate('shell');
  const other = currentPortal === 'portal' ? 'provider-portal' : 'portal';
  const path = useRouterState({ select: ({ location }) => location.pathname });
  // The start page redirects, because mails and bookmarks know only one portal address.
  const isRedirected = path.replace(/\/$/, '').replace(`/${currentPortal}`, '') === '';
  useEffect(() => {
    if (isRedirected) location.replace(`/${other}/`);
  }, [isRedirected, other]);
  if (isRedirected) return null;
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

function ConnectionBanner() {
  const t = useTranslate('shell');
  const client = useQueryClient();
  const isLost = useSyncExternalStore(connectionMonitor.subscribe, connectionMonitor.isLost);
  const wasLost = useRef(false);
  useEffect(() => {
    if (wasLost.current && !isLost) void client.invalidateQueries();
    wasLost.current = isLost;
  }, [isLost, client]);
  return (
    <div role="status">
      {isLost && (
        <div className="sy-banner">
          <Icon name="offline" />
          <span>{t('connectionLost')}</span>
        </div>
      )}
    </div>
  );
}
