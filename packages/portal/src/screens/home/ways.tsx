/** Where one can go from here, as the rail has it. */
import { Link } from '@tanstack/react-router';
import { entry } from '../../app/entry.ts';
import { navigationFor } from '../../navigation.ts';
import { Icon } from '../../parts/icons.tsx';
import { useSession } from '../../session/use-session.ts';
import { useWords } from '../../words/index.ts';

const shownMost = 8;

export function Ways() {
  const names = useWords('navigation');
  const session = useSession();
  const items = navigationFor(session, entry)
    .flatMap((section) => section.items)
    .filter(({ to }) => to !== '/')
    // The rail has them all.
    .slice(0, shownMost);
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
