/** Shows a few key figures above a list or a chart. */
import type { ReactNode } from 'react';
import './chart.css';

export function KeyFigures({
  items,
}: {
  readonly items: readonly {
    readonly label: string;
    readonly value: ReactNode;
    readonly note?: ReactNode;
  }[];
}) {
  return (
    <dl className="sy-figures">
      {items.map(({ label, value, note }) => (
        <div key={label} className="sy-figure">
          <dt>{label}</dt>
          <dd>
            {value}
            {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}
