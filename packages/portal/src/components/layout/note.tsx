/** A note above or beside other content. */
import type { ReactNode } from 'react';
import { Icon, type IconName } from '../icon.tsx';
import './note.css';

export function Note({
  icon = 'info',
  tone = 'plain',
  children,
}: {
  readonly icon?: IconName;
  readonly tone?: 'plain' | 'warn';
  readonly children: ReactNode;
}) {
  return (
    <div className="sy-note" data-tone={tone}>
      <Icon name={icon} />
      <div className="sy-broken">{children}</div>
    </div>
  );
}
