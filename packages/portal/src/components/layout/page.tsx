/** The frame of a screen: title, actions and panels. */
import { Skeleton } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { useTranslate } from '../../locales/index.ts';
import { Icon, type IconName } from '../icon.tsx';
import './page.css';

export type PageProps = {
  readonly title: string;
  /** Content beside the title, such as a status or an amount. */
  readonly aside?: ReactNode;
  readonly lead?: ReactNode;
  /** Buttons at the end of the title line. */
  readonly actions?: ReactNode;
  /** The link to the parent screen. */
  readonly backLink?: { readonly to: string; readonly label: string };
  /** Fills the window height, for a list with its own scroll bar. */
  readonly fill?: boolean;
  readonly children: ReactNode;
};

export function Page({ title, aside, lead, actions, backLink, fill = false, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Switchyard`;
  }, [title]);
  return (
    <div className={fill ? 'sy-page sy-page-fill' : 'sy-page'}>
      <div className="sy-page-head">
        <div className="sy-page-titles">
          {backLink !== undefined && (
            <Link className="sy-page-back" to={backLink.to}>
              <Icon name="chevronLeft" size={14} />
              <span className="sy-cut">{backLink.label}</span>
            </Link>
          )}
          <div className="sy-page-title">
            <h1 title={title}>{title}</h1>
            {aside}
          </div>
          {lead !== undefined && <div className="sy-page-lead">{lead}</div>}
        </div>
        {Boolean(actions) && <div className="sy-page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

export function Panel({
  title,
  actions,
  flush = false,
  children,
}: {
  readonly title?: string | undefined;
  readonly actions?: ReactNode;
  /** No padding, for a table. */
  readonly flush?: boolean;
  readonly children: ReactNode;
}) {
  return (
    <section className="sy-panel" aria-label={title}>
      {(title !== undefined || Boolean(actions)) && (
        <div className="sy-panel-head">
          {title !== undefined && <h2>{title}</h2>}
          {Boolean(actions) && <div className="sy-panel-actions">{actions}</div>}
        </div>
      )}
      <div className={flush ? undefined : 'sy-panel-body'}>{children}</div>
    </section>
  );
}

export type DescriptionItem = readonly [label: string, value: ReactNode];

/** A list of names and values. Items without a value are omitted. */
export function DescriptionList({ items }: { readonly items: readonly DescriptionItem[] }) {
  return (
    <dl className="sy-facts">
      {items
        .filter(([, value]) => value !== undefined && value !== null && value !== '')
        .map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd className="sy-broken">{value}</dd>
          </div>
        ))}
    </dl>
  );
}

export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <div className="sy-empty">
      <span className="sy-empty-icon">
        <Icon name={icon} size={26} />
      </span>
      <p className="sy-empty-title">{title}</p>
      {children !== undefined && <div className="sy-empty-text">{children}</div>}
      {action}
    </div>
  );
}

/** The placeholder of a screen or a panel that is loading. */
export function Loading({ lines = 6 }: { readonly lines?: number }) {
  const t = useTranslate('components');
  return (
    <div className="sy-loading" aria-busy="true">
      <output className="sy-unseen">{t('loading')}</output>
      {Array.from({ length: lines }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines without a content of their own
        <Skeleton key={at} height={14} width={`${96 - ((at * 17) % 45)}%`} radius="sm" />
      ))}
    </div>
  );
}
