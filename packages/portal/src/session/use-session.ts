/** Hooks for the session: user, permissions and formats. */
import type { Permission } from '@switchyard/contract';
import { createContext, use } from 'react';
import type { Formats } from './locale-formats.ts';
import type { Session } from './signed-in-user.ts';

export type SessionContextValue = { readonly session: Session; readonly formats: Formats };

export const SessionContext = createContext<SessionContextValue | undefined>(undefined);

function useSessionContext(): SessionContextValue {
  const facts = use(SessionContext);
  if (facts === undefined) throw new Error('outside of the session');
  return facts;
}

export function useSession(): Session {
  return useSessionContext().session;
}

/** Formats for money, numbers and times of the user. */
export function useFormats(): Formats {
  return useSessionContext().formats;
}

/** True if the user has one of these permissions. */
export function useHasPermission(...anyOf: readonly Permission[]): boolean {
  const { permissions } = useSession();
  return anyOf.some((each) => permissions.includes(each));
}
