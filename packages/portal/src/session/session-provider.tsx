/** Fetches the session before anything is shown, and keeps it in step with the platform. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo } from 'react';
import { api, watchCalls } from '../api/client.ts';
import { SignedOutError } from '../api/problem.ts';
import { BootFault } from '../shell/boot-fault.tsx';
import {
  chooseLanguage,
  localeFor,
  preloadWords,
  setLanguage,
  useLanguage,
} from '../words/index.ts';
import { createFormats } from './formats.ts';
import { rememberDomain, type Session, signIn } from './session.ts';
import { SessionContext } from './use-session.ts';
import { createSessionWatch, type SessionWatch } from './watch.ts';
import { WatchContext } from './watch-context.ts';

const sessionKey = ['session'] as const;

async function readSession(): Promise<Session> {
  void preloadWords(chooseLanguage(undefined));
  const session = await api.get<Session>('/portal/session', { isBackground: true });
  rememberDomain(session);
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
    if (mustSignIn) signIn();
  }, [mustSignIn]);
  if (data !== undefined) {
    return (
      <SessionScope session={data} readAt={dataUpdatedAt}>
        {children}
      </SessionScope>
    );
  }
  if (error === null || mustSignIn) return null;
  return <BootFault fault={error} onRetry={() => void refetch()} />;
}

function useWatch(session: Session, readAt: number): SessionWatch {
  const { idleSeconds, endsAt } = session;
  const watch = useMemo(
    () =>
      createSessionWatch({
        idleSeconds,
        expiresAtMs: Date.parse(endsAt),
        touch: () => api.get('/portal/session'),
      }),
    [idleSeconds, endsAt],
  );
  const client = useQueryClient();
  useEffect(() => {
    const onForbidden = () => void client.invalidateQueries({ queryKey: sessionKey });
    watchCalls({ onSignedOut: watch.ended, onUsed: watch.used, onForbidden });
    const stop = watch.start();
    const acted = () => watch.acted();
    for (const kind of ['pointerdown', 'keydown'] as const) addEventListener(kind, acted);
    return () => {
      stop();
      for (const kind of ['pointerdown', 'keydown'] as const) removeEventListener(kind, acted);
    };
  }, [watch, client]);
  // Somebody signed in again in another tab.
  useEffect(() => {
    if (readAt > 0 && watch.state() === 'ended') watch.used();
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
  const watch = useWatch(session, readAt);
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
      <WatchContext value={watch}>{children}</WatchContext>
    </SessionContext>
  );
}
