/** What every screen may ask about whoever is signed in. */
import type { Permission } from '@switchyard/contract';
import { createContext, use } from 'react';
import type { Formats } from './locale-formats.ts';
import type { Session } from './session.ts';

export type SessionFacts = { readonly session: Session; readonly formats: Formats };

export const SessionContext = createContext<SessionFacts | undefined>(undefined);

function useFacts(): SessionFacts {
  const facts = use(SessionContext);
  if (facts === undefined) throw new Error('outside of the session');
  return facts;
}

export function useSession(): Session {
  return useFacts().session;
}

/** Money, numbers and times as the user reads them. */
export function useFormats(): Formats {
  return useFacts().formats;
}

/** True where the user holds one of these permissions. */
export function useCan(...anyOf: readonly Permission[]): boolean {
  const { permissions } = useSession();
  return anyOf.some((each) => permissions.includes(each));
}
