/** Items of a description list; an item without a value is omitted. */
import type { DescriptionItem } from '../layout/page.tsx';
import { CopyableText } from './copy-text.tsx';
import { type EntityKind, EntityName } from './entity-name.tsx';
import { DateTime } from './values.tsx';

export const timeItem = (
  label: string,
  at: string | null | undefined,
  isExact = false,
): DescriptionItem => [label, at && <DateTime key={label} at={at} exact={isExact} />];

export const copyItem = (label: string, text: string | undefined): DescriptionItem => [
  label,
  text && <CopyableText key={label} text={text} label={label} />,
];

/** The name of a merchant, a store, a device or a link. */
export const nameItem = (
  label: string,
  kind: EntityKind,
  id: string | undefined,
): DescriptionItem => [label, id && <EntityName key={label} kind={kind} id={id} />];
