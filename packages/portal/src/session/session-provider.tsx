/** Fetches the session before anything is shown, and keeps it in step with the platform. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo } from 'react';
import { SignedOutError } from '../api/api-errors.ts';
import { api, watchCalls } from '../api/client.ts';
import {
  chooseLanguage,
  localeFor,
  preloadSharedTexts,
  setLanguage,
  useLanguage,
} from '../locales/index.ts';
import { BootFault } from '../shell/startup-error.tsx';
import { createFormats } from './locale-formats.ts';
import { rememberDomain, type Session, signIn, userKeyOf } from './session.ts';
import { createSessionWatch, type SessionWatch } from './session-monitor.ts';
import { WatchContext } from './session-monitor-context.ts';
import { SessionContext } from './use-session.ts';

const sessionKey = ['session'] as const;

/** Whose page it is, from the first answer on. */
let owner: string | undefined;

/**
 * Where somebody else has signed in in another tab the page begins anew: nothing that was read for one
 * person is shown to the other, and nothing that one has written is sent in the name of the other.
 */
async function askSession(isBackground: boolean): Promise<Session> {
  const session = await api.get<Session>('/portal/session', { isBackground });
  owner ??= userKeyOf(session);
  if (userKeyOf(session) === owner) return session;
  location.reload();
  return new Promise(() => {});
}

async function readSession(): Promise<Session> {
  void preloadSharedTexts(chooseLanguage(undefined));
  const session = await askSession(true);
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
  const userKey = userKeyOf(session);
  const client = useQueryClient();
  const lookAgain = useCallback(
    () => void client.invalidateQueries({ queryKey: sessionKey }),
    [client],
  );
  const watch = useMemo(
    () =>
      createSessionWatch({
        idleSeconds,
        expiresAtMs: Date.parse(endsAt),
        userKey,
        keepAlive: () => askSession(false),
        onChanged: lookAgain,
      }),
    [idleSeconds, endsAt, userKey, lookAgain],
  );
  useEffect(() => {
    watchCalls({ onSignedOut: watch.reportRejectedCall, onUsed: watch.reportAcceptedCall, onForbidden: lookAgain });
    const stop = watch.start();
    const acted = () => watch.reportActivity();
    for (const kind of ['pointerdown', 'keydown'] as const) addEventListener(kind, acted);
    return () => {
      stop();
      for (const kind of ['pointerdown', 'keydown'] as const) removeEventListener(kind, acted);
    };
  }, [watch, lookAgain]);
  // Somebody signed in again in another tab.
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
