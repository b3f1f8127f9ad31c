"""The programs to repair of the course, one file each: goal, hints, solutions, and wrong fixes."""
