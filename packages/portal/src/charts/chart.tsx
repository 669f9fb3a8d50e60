/** A bar or line chart over days or hours, with the same values as a table. */
import { Table } from '@mantine/core';
import { useId, useState } from 'react';
import { useTranslate } from '../locales/index.ts';
import { isolatedPoints, linePath, roundUpScale } from './chart-scale.ts';
import './chart.css';

export type Series = {
  readonly name: string;
  /** One value for each label; undefined if there is none. */
  readonly values: readonly (number | undefined)[];
};

export type ChartProps = {
  /** The accessible name of the chart. */
  readonly title: string;
  readonly kind: 'bars' | 'lines';
  readonly labels: readonly string[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The end of the scale. The default is a round number above the highest value. */
  readonly top?: number;
  readonly labelHeader: string;
};

const labelsMost = 8;

export function Chart(props: ChartProps) {
  const { title, kind, labels, series, format, top } = props;
  const t = useTranslate('components');
  const id = useId();
  const [activeIndex, setActiveIndex] = useState<number | undefined>(undefined);
  const values = series.flatMap((each) => each.values.filter((value) => value !== undefined));
  const height = top ?? roundUpScale(Math.max(0, ...values));
  const every = Math.ceil(labels.length / labelsMost);
  const at = activeIndex ?? labels.length - 1;
  return (
    <figure className="sy-chart" aria-labelledby={id}>
      <figcaption id={id} className="sy-unseen">
        {title}
      </figcaption>
      <div className="sy-chart-tooltip" aria-hidden="true">
        <span>{labels[at]}</span>
        {series.map(({ name, values: figures }, index) => (
          <span key={name} data-series={index}>
            {series.length > 1 ? `${name} ` : ''}
            <strong>{figures[at] === undefined ? '–' : format(figures[at])}</strong>
          </span>
        ))}
      </div>
      <div className="sy-chart-area" aria-hidden="true">
        <div className="sy-chart-scale">
          <span>{format(height)}</span>
          <span>{format(height / 2)}</span>
          <span>{format(0)}</span>
        </div>
        <div className="sy-chart-plot" onPointerLeave={() => setActiveIndex(undefined)}>
          {kind === 'lines' && <Lines series={series} height={height} />}
          {labels.map((label, index) => (
            <div
              key={label}
              className="sy-chart-column"
              data-shown={index === at}
              onPointerEnter={() => setActiveIndex(index)}
            >
              {kind === 'bars' && <Bar value={series[0]?.values[index] ?? 0} top={height} />}
              <span data-minor={(index / every) % 2 === 1}>{index % every === 0 ? label : ''}</span>
            </div>
          ))}
        </div>
      </div>
      <details className="sy-chart-table">
        <summary>{t('chart.table')}</summary>
        <Figures {...props} />
      </details>
    </figure>
  );
}

function Bar({ value, top }: { readonly value: number; readonly top: number }) {
  return value > 0 ? <i style={{ height: `${(value / top) * 100}%` }} /> : null;
}

function Lines({
  series,
  height,
}: {
  readonly series: readonly Series[];
  readonly height: number;
}) {
  return (
    <svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
      {series.map(({ name, values }, index) => (
        <g key={name} data-series={index}>
          <path d={linePath(values, height)} />
          <path className="sy-chart-point" d={isolatedPoints(values, height)} />
        </g>
      ))}
    </svg>
  );
}

function Figures({ title, labelHeader, labels, series, format }: ChartProps) {
  return (
    <Table aria-label={title} verticalSpacing={4} horizontalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{labelHeader}</Table.Th>
          {series.map(({ name }) => (
            <Table.Th key={name} ta="end">
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {labels.map((label, index) => (
          <Table.Tr key={label}>
            <Table.Th scope="row">{label}</Table.Th>
            {series.map(({ name, values }) => (
              <Table.Td key={name} ta="end">
                {values[index] === undefined ? '–' : format(values[index])}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}

/**
 * Horizontal bars with a name and a value each. Screen readers read the list, so no table is
 * needed.
 */
export function Ranking({
  items,
  format,
}: {
  readonly items: readonly { readonly name: string; readonly value: number }[];
  readonly format: (value: number) => string;
}) {
  const most = Math.max(1, ...items.map(({ value }) => value));
  return (
    <ol className="sy-ranking">
      {items.map(({ name, value }) => (
        <li key={name}>
          <span className="sy-cut" title={name}>
            {name}
          </span>
          <strong>{format(value)}</strong>
          <i style={{ width: `${(value / most) * 100}%` }} aria-hidden="true" />
        </li>
      ))}
    </ol>
  );
}
