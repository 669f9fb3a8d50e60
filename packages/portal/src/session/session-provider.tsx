/** Loads the session before anything is rendered, and keeps it up to date. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo } from 'react';
import { SignedOutError } from '../api/api-errors.ts';
import { api, observeCalls } from '../api/client.ts';
import {
  chooseLanguage,
  localeFor,
  preloadSharedTexts,
  setLanguage,
  useLanguage,
} from '../locales/index.ts';
import { StartupError } from '../shell/startup-error.tsx';
import { createFormats } from './locale-formats.ts';
import { createSessionMonitor, type SessionMonitor } from './session-monitor.ts';
import { SessionMonitorContext } from './session-monitor-context.ts';
import { redirectToSignIn, rememberUserDomain, type Session, userKeyOf } from './signed-in-user.ts';
import { SessionContext } from './use-session.ts';

const sessionKey = ['session'] as const;

/** The user of this page, from the first response on. */
let pageUserKey: string | undefined;

/**
 * Reloads the page if another user has signed in in another tab, so that no data of one user is
 * shown to or sent by another.
 */
async function fetchSession(isBackground: boolean): Promise<Session> {
  const session = await api.get<Session>('/portal/session', { isBackground });
  pageUserKey ??= userKeyOf(session);
  if (userKeyOf(session) === pageUserKey) return session;
  location.reload();
  return new Promise(() => {});
}

async function readSession(): Promise<Session> {
  void preloadSharedTexts(chooseLanguage(undefined));
  const session = await fetchSession(true);
  rememberUserDomain(session);
  await setLanguage(chooseLanguage(session.user.locale), false);
  return session;
}

export function SessionProvider({ children }: { readonly children: ReactNode }) {
  const { data, dataUpdatedAt, error, refetch } = useQuery({
    queryKey: sessionKey,
    queryFn: readSession,
    staleTime: 60_000,
    refetchOnWindowFocus: 'always',
  });
  const mustSignIn = data === undefined && error instanceof SignedOutError;
  useEffect(() => {
    if (mustSignIn) redirectToSignIn();
  }, [mustSignIn]);
  if (data !== undefined) {
    return (
      <SessionScope session={data} readAt={dataUpdatedAt}>
        {children}
      </SessionScope>
    );
  }
  if (error === null || mustSignIn) return null;
  return <StartupError fault={error} onRetry={() => void refetch()} />;
}

function useSessionMonitor(session: Session, readAt: number): SessionMonitor {
  const { idleSeconds, endsAt } = session;
  const userKey = userKeyOf(session);
  const client = useQueryClient();
  const refetchSession = useCallback(
    () => void client.invalidateQueries({ queryKey: sessionKey }),
    [client],
  );
  const watch = useMemo(
    () =>
      createSessionMonitor({
        idleSeconds,
        expiresAtMs: Date.parse(endsAt),
        userKey,
        keepAlive: () => fetchSession(false),
        onChanged: refetchSession,
      }),
    [idleSeconds, endsAt, userKey, refetchSession],
  );
  useEffect(() => {
    observeCalls({
      onSignedOut: watch.reportRejectedCall,
      onUsed: watch.reportAcceptedCall,
      onForbidden: refetchSession,
    });
    const stop = watch.start();
    const acted = () => watch.reportActivity();
    for (const kind of ['pointerdown', 'keydown'] as const) addEventListener(kind, acted);
    return () => {
      stop();
      for (const kind of ['pointerdown', 'keydown'] as const) removeEventListener(kind, acted);
    };
  }, [watch, refetchSession]);
  // The user signed in again in another tab.
  useEffect(() => {
    if (readAt > 0 && watch.state() === 'ended') watch.reportAcceptedCall();
  }, [watch, readAt]);
  return watch;
}

function SessionScope({
  session,
  readAt,
  children,
}: {
  readonly session: Session;
  readonly readAt: number;
  readonly children: ReactNode;
}) {
  const language = useLanguage();
  const watch = useSessionMonitor(session, readAt);
  const { locale, zoneinfo, datetimeFormat } = session.user;
  const facts = useMemo(
    () => ({
      session,
      formats: createFormats({
        locale: localeFor(language, locale),
        zone: zoneinfo ?? Intl.DateTimeFormat().resolvedOptions().timeZone,
        pattern: datetimeFormat,
      }),
    }),
    [session, language, locale, zoneinfo, datetimeFormat],
  );
  return (
    <SessionContext value={facts}>
      <SessionMonitorContext value={watch}>{children}</SessionMonitorContext>
    </SessionContext>
  );
}
