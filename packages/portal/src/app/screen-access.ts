/** Whom a screen is for: the rail, the addresses and every way to a screen ask the same question. */
import type { Permission } from '@switchyard/contract';
import type { Session } from '../session/session.ts';
import type { Entry } from './current-portal.ts';

export type Access = {
  /** One of these permissions is enough; an empty list is for everybody. */
  readonly needs: readonly Permission[];
  readonly entries: readonly Entry[];
  /** The organisation's alone: no merchant is shown it. */
  readonly isOfOrganization?: true;
  /** Of the organisation that operates the platform alone. */
  readonly isOfOperator?: true;
  /** Left out where it stands everywhere. */
  readonly environments?: readonly Session['environment'][];
};

export type Visitor = Pick<Session, 'permissions' | 'environment' | 'merchantId' | 'isOperator'>;

/** Whether it is there at all, whoever asks. */
export function isHere(
  { entries, environments }: Access,
  { environment }: Pick<Visitor, 'environment'>,
  entry: Entry,
): boolean {
  return entries.includes(entry) && (environments?.includes(environment) ?? true);
}

/** Whether it is there, and for this user. */
export function isOpenTo(access: Access, visitor: Visitor, entry: Entry): boolean {
  const { needs, isOfOrganization, isOfOperator } = access;
  const { permissions, merchantId, isOperator } = visitor;
  return (
    isHere(access, visitor, entry) &&
    (isOfOrganization === undefined || merchantId === undefined) &&
    (isOfOperator === undefined || isOperator === true) &&
    (needs.length === 0 || needs.some((each) => permissions.includes(each)))
  );
}
