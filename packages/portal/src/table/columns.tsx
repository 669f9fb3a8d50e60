/** Columns that many lists have. */
import { type EntityKind, EntityName } from '../components/values/entity-name.tsx';
import { DateTime, Money, TruncatedName } from '../components/values/values.tsx';
import type { CardPosition, Column } from './data-table.tsx';

/** A text on one line. */
export const textColumn = <Row,>(
  header: string,
  text: (row: Row) => string | undefined,
  cardPosition?: CardPosition,
): Column<Row> => ({
  header,
  cardPosition,
  cell: (row) => <TruncatedName>{text(row)}</TruncatedName>,
});

export const timeColumn = <Row,>(
  header: string,
  at: (row: Row) => string | undefined,
  cardPosition?: CardPosition,
): Column<Row> => ({
  header,
  cardPosition,
  width: '10.5rem',
  cell: (row) => <DateTime at={at(row)} />,
});

/** The name of a merchant, a store, a device or a link. */
export const nameColumn = <Row,>(
  header: string,
  kind: EntityKind,
  id: (row: Row) => string | null | undefined,
  cardPosition?: CardPosition,
): Column<Row> => ({
  header,
  cardPosition,
  cell: (row) => <EntityName kind={kind} id={id(row)} />,
});

export const moneyColumn = <Row,>(
  header: string,
  width: string,
  money: (row: Row) => { readonly amount: number | bigint; readonly currency: string },
  cardPosition?: CardPosition,
): Column<Row> => ({
  header,
  cardPosition,
  width,
  align: 'end',
  cell: (row) => <Money {...money(row)} />,
});

/** A number or a code at the end of its column. */
export const numberColumn = <Row,>(
  header: string,
  width: string,
  text: (row: Row) => string | number,
  cardPosition?: CardPosition,
): Column<Row> => ({ header, cardPosition, width, align: 'end', cell: text });
