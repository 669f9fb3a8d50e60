/** Where one can go from here, as the rail has it. */
import { Link } from '@tanstack/react-router';
import { entry } from '../../app/current-portal.ts';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';
import { navigationFor } from '../../navigation.ts';
import { useSession } from '../../session/use-session.ts';

const displayLimit = 8;

export function Ways() {
  const names = useTranslate('navigation');
  const session = useSession();
  const items = navigationFor(session, entry)
    .flatMap((section) => section.items)
    .filter(({ to }) => to !== '/')
    // The rail has them all.
    .slice(0, displayLimit);
  return (
    <ul className="sy-ways">
      {items.map(({ to, word, icon }) => (
        <li key={to}>
          <Link to={to}>
            <Icon name={icon} size={18} />
            <span className="sy-cut">{names(`items.${word}`)}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}
