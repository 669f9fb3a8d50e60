/** The few figures that stand above everything else. */
import type { ReactNode } from 'react';
import './chart.css';

export function Figures({
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
